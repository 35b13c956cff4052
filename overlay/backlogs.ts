// What waited for receivers that were away and want the digest first (DESIGN section 8): it stays at their root, in a
// queue of its own beside the one that goes on with what is live, packed as that is, until their clients recall it.
import type { Cursor, Item } from '../buffers/item.ts'
import { itemBytes } from '../buffers/item.ts'
import type { PrivateQueue } from '../buffers/private-queue.ts'
import type { Taken } from '../buffers/queue.ts'
import type { RemoteBuffer } from '../buffers/remote-buffer.ts'
import type { Policy } from '../policies/policy.ts'
import type { PollAnswer, RoutedMessage } from './control.ts'
import type { Host } from './host.ts'
import type { Id } from './id.ts'
import { piecesOf } from './poll-answer.ts'
import { ANSWER_BYTES } from './sender-root.ts'

export type Recall = Extract<RoutedMessage, { kind: 'recall' }>

interface Kept {
  readonly sid: Id
  readonly rid: Id
  readonly key: string
  readonly policy: Policy
}

/** Digests of a preview: a stream full of holes has many; those beyond are left out. */
const PREVIEW_BYTES = 4 * ANSWER_BYTES

export class Backlogs {
  readonly #host: Host
  readonly #rpb: RemoteBuffer
  /** What was sent of each and not acknowledged, by its name in RPB. */
  readonly #taken = new Map<string, Taken>()

  constructor(host: Host, rpb: RemoteBuffer) {
    this.#host = host
    this.#rpb = rpb
  }

  /** How many have something on its way. */
  get size(): number {
    return this.#taken.size
  }

  /** A receiver is back: what waits for it, from the cursor on, stays, behind what stayed before. */
  keep({ sid, rid, key, policy }: Kept, cursor: Cursor | undefined): void {
    const items = this.#rpb.withdraw(key, rid, cursor)
    if (items.length === 0) return
    const name = nameOf(sid, rid)
    if (this.#queueOf(name, rid) === undefined) {
      this.#rpb.subscribe(name, this.#host.linkTo(this.#host.id), rid, policy)
      this.#rpb.suspend(name, rid)
    }
    this.#rpb.put(name, rid, items)
  }

  /** Nobody recalls it any more. */
  drop(sid: Id, rid: Id): void {
    const name = nameOf(sid, rid)
    this.#taken.delete(name)
    this.#rpb.unsubscribe(name, rid)
  }

  /** Answers with the next items from `since` on, which says that all below arrived, or with the preview of all. */
  recall(recall: Recall): void {
    const { sid, rid, since, preview } = recall
    const name = nameOf(sid, rid)
    const queue = this.#queueOf(name, rid)
    if (queue !== undefined) this.#acknowledge(name, queue, since)
    if (queue === undefined || queue.isEmpty) {
      this.drop(sid, rid)
      this.tell(recall, { kind: 'backlog', index: 0 })
    } else this.#answer(recall, preview === true ? previewOf(queue) : this.#take(name, queue))
  }

  tell({ request, path }: Recall, answer: PollAnswer): void {
    const rest = path.slice(0, -1)
    this.#host.tell(path.at(-1) ?? this.#host.id, { kind: 'polled', request, path: rest, answer })
  }

  /** What was sent and did not arrive is sent again. */
  #acknowledge(name: string, queue: PrivateQueue, since: Cursor | undefined): void {
    const taken = this.#taken.get(name)
    this.#taken.delete(name)
    if (taken !== undefined) {
      queue.acknowledge(taken)
      queue.prepend(taken.items)
    }
    if (since !== undefined) queue.discardBelow(since)
    queue.packIfOver()
  }

  #take(name: string, queue: PrivateQueue): readonly Item[] {
    const taken = queue.take(ANSWER_BYTES)!
    this.#taken.set(name, taken)
    return taken.items
  }

  #answer(recall: Recall, items: readonly Item[]): void {
    const bytes = items.reduce((sum, item) => sum + itemBytes(item), 0)
    const pieces = piecesOf(recall.sid, items, bytes)
    const last = pieces.pop()!
    for (const [index, piece] of pieces.entries()) this.tell(recall, { kind: 'piece', index, items: piece })
    this.tell(recall, { kind: 'backlog', index: pieces.length, items: last })
  }

  #queueOf(name: string, rid: Id): PrivateQueue | undefined {
    return this.#rpb.classOf(name, rid)?.queue
  }
}

/** No sender's and receiver's IDs: nothing that is sent anywhere is called so. */
function nameOf(sid: Id, rid: Id): string {
  return `backlog ${sid}${rid}`
}

function previewOf(queue: PrivateQueue): readonly Item[] {
  let bytes = 0
  const digests = queue.preview()
  return digests.filter((digest, i) => {
    bytes += itemBytes(digest)
    return i === 0 || bytes <= PREVIEW_BYTES
  })
}
