// Control frames (`docs/wire.md`): the version and one control message as JSON. What each kind has is a table;
// fields that are not in it are left out, so that later versions can say more.
import type { Cursor } from '../../buffers/item.ts'
import type { PolicySpec } from '../../policies/policy.ts'
import type {
  ClassSpec,
  ControlMessage,
  NodeInfo,
  PollAnswer,
  RoutedMessage,
  SenderInfo,
  ToldCursor,
} from '../control.ts'
import { type Id, isId } from '../id.ts'
import { count, finite, flag, json, kinds, list, oneOf, optional, record, text, value } from './check.ts'
import { isName } from './dictionary.ts'
import { invalidFrame } from './frame-error.ts'
import { FrameReader } from './frame-reader.ts'
import { controlLimits, MAX_FRAME_BYTES, MAX_TAGS, MAX_TAGS_BYTES, WIRE_VERSION } from './limits.ts'
import { areTags } from './schema.ts'

const textEncoder = new TextEncoder()
const BASE64 = /^(?:[A-Za-z0-9+/]{4})+$|^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)$/

/** Throws FRAME_INVALID for a message that is too long to be sent. */
export function encodeControl(message: ControlMessage): Uint8Array {
  const json = textEncoder.encode(JSON.stringify(message))
  if (json.length >= MAX_FRAME_BYTES) throw invalidFrame(`has more than ${MAX_FRAME_BYTES} bytes`)
  const frame = new Uint8Array(1 + json.length)
  frame[0] = WIRE_VERSION
  frame.set(json, 1)
  return frame
}

/** The message, with every field checked but policies, which are compiled elsewhere. Throws FRAME_INVALID. */
export function decodeControl(frame: Uint8Array): ControlMessage {
  const reader = new FrameReader(frame)
  return controlMessage(parse(reader.utf8(reader.left)), 'message')
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch (error) {
    throw invalidFrame('has a message that is not JSON', error)
  }
}

const id = value<Id>('64 hex digits', isId)
const ids = (max: number) => list(id, max)
const hashes = ids(controlLimits.classes)
const allow = optional(ids(controlLimits.allow))
const name = text(controlLimits.name)
const reason = text(controlLimits.reason)
const policy = json<PolicySpec>(controlLimits.policy, controlLimits.policyDepth)
const cursor = record<Cursor>({ epoch: count(), seq: count() })
const sender = value<string>('one ID or two', isName)
const toldCursor = record<ToldCursor>({
  toward: oneOf('SP', 'SR', 'RR', 'RP', 'RC', 'SI'),
  sender,
  rid: optional(id),
  epoch: count(),
  seq: count(),
})
const wantToward = oneOf('SR', 'SP', 'SC')
const texts = list(text(MAX_TAGS_BYTES), MAX_TAGS)
const fitting = value<readonly string[]>(`tags of at most ${MAX_TAGS_BYTES} bytes`, (tags) => {
  return areTags(tags as string[])
})
const tags = (value: unknown, name: string) => fitting(texts(value, name), name)
const senderInfo = record<SenderInfo>({ sid: id, name, owner: id, tags })
const nodeInfo = record<NodeInfo>({
  id,
  addresses: list(text(controlLimits.address), controlLimits.addresses),
  load: finite,
})
const classes = list(record<ClassSpec>({ hash: id, policy: optional(policy) }), controlLimits.classes)

const backlog = optional(oneOf('digest-first'))
const path = ids(controlLimits.hops)
const waitMs = count(controlLimits.waitMs)
const index = count(controlLimits.pieces - 1)
const piece = value<string>(`base64 of at most ${controlLimits.piece}`, (text) => {
  return typeof text === 'string' && text.length <= controlLimits.piece && BASE64.test(text)
})

const pollAnswer = kinds<PollAnswer>({
  piece: { index, items: piece },
  items: {
    index,
    items: optional(piece),
    first: cursor,
    more: flag,
    phaseAdjustmentMs: count(),
    desynchronisationMs: waitMs,
  },
  backlog: { index, items: optional(piece) },
  unknown: {},
  busy: { retryAfterMs: waitMs },
  denied: { reason },
})

const routedMessage = kinds<RoutedMessage>({
  register: { sid: id, proxy: id, generation: count(), allow },
  unregister: { sid: id, proxy: id },
  subscribe: {
    sid: id,
    rid: id,
    proxy: id,
    owner: id,
    policy,
    generation: count(),
    cursor: optional(cursor),
    pending: optional(flag),
    away: optional(flag),
    backlog,
  },
  unsubscribe: { sid: id, rid: id, proxy: id, to: optional(id) },
  poll: { request: count(), sid: id, owner: id, path, since: optional(cursor) },
  recall: {
    request: count(),
    sid: id,
    rid: id,
    owner: id,
    path,
    since: optional(cursor),
    preview: optional(flag),
  },
})

const controlMessage = kinds<ControlMessage>({
  open: { sid: id, name, tags, epoch: count(), next: count(), generation: count(), allow },
  opened: { sid: id },
  close: { sid: id },
  subscribe: { sid: id, rid: id, name, policy, generation: count(), cursor: optional(cursor), backlog },
  unsubscribe: { sid: id, rid: id },
  detach: { generation: count() },
  others: { load: finite, nodes: list(nodeInfo, controlLimits.nodes), move: optional(flag) },
  subscribed: { sid: id, rid: id, first: optional(cursor) },
  refused: {
    sid: id,
    rid: optional(id),
    reason,
    generation: optional(count()),
    newest: optional(count()),
  },
  list: { request: count() },
  senders: { request: count(), senders: list(senderInfo, controlLimits.senders), last: flag },
  poll: { request: count(), sid: id, since: optional(cursor) },
  recall: { request: count(), sid: id, rid: id, since: optional(cursor), preview: optional(flag) },
  polled: { request: count(), path, answer: pollAnswer },
  route: { key: id, hops: count(controlLimits.hops), origin: id, message: routedMessage },
  rooted: { key: id },
  want: { toward: wantToward, sid: id, classes, all: optional(flag), noRedirect: optional(flag) },
  granted: {
    sid: id,
    hashes,
    first: optional(cursor),
    ancestors: ids(controlLimits.ancestors),
    allow,
    provisional: optional(flag),
  },
  unwant: { toward: wantToward, sid: id, hashes },
  denied: { sid: id, hashes, reason },
  redirect: { sid: id, to: id },
  collect: {
    sid: id,
    rid: id,
    to: id,
    generation: count(),
    cursor: optional(cursor),
    first: optional(cursor),
  },
  collected: { sid: id, rid: id, generation: count() },
  suspend: { sid: id, rid: id, generation: count() },
  mirror: {
    sid: id,
    rid: id,
    proxy: id,
    owner: id,
    policy,
    generation: count(),
    cursor: optional(cursor),
    first: optional(cursor),
  },
  unmirror: { sid: id, rid: id },
  finish: { sid: id, generation: count() },
  finished: { sid: id, generation: count() },
  leave: {},
  ack: { number: count() },
  ping: { at: finite },
  pong: { at: finite },
  resume: { cursors: list(toldCursor, controlLimits.cursors), last: flag },
})
