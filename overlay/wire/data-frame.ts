// Data frames (`docs/wire.md`): the items of one batch, in parts that say where they go (PACK section 4: the
// header's `toward`), from which sender, and for whom. Encoders and decoders belong to one stream.
import type { Uint8ArrayList } from 'uint8arraylist'
import { epochOf, type Item, type Marker, nextAfter } from '../../buffers/item.ts'
import { SpillwayError } from '../../policies/error.ts'
import type { Toward } from '../control.ts'
import { ReceivedNames, ReceivedSchemas, SentNames, SentSchemas, Undo } from './dictionary.ts'
import { digestFollows, readDigest, writeDigest } from './digest-codec.ts'
import { invalidFrame } from './frame-error.ts'
import { FrameReader } from './frame-reader.ts'
import { FrameWriter } from './frame-writer.ts'
import { MAX_FRAME_BYTES, MAX_FRAME_ENTRIES, WIRE_VERSION } from './limits.ts'
import { type Place, placeBehind } from './place.ts'
import { readRun, runFollows, writeRun, writeRunBehind } from './run-codec.ts'

/** Items of one sender, in order, for everyone or for one class or receiver. */
export interface DataPart {
  readonly toward: Toward
  /** A sender's ID; towards RP, RC and SI the receiver's ID behind it. */
  readonly sender: string
  /** The policy's hash or the receiver's ID; undefined for everyone. */
  readonly rid: string | undefined
  readonly items: readonly Item[]
}

export interface DataFrame {
  readonly number: number
  readonly parts: readonly DataPart[]
}

/** What a frame is made of: a `Batch`, as far as the wire knows it. */
export interface Outgoing {
  readonly number: number
  /** About how many bytes its items have. */
  readonly bytes: number
  readonly parts: readonly OutgoingPart[]
}

export interface OutgoingPart {
  readonly slot: { readonly buffer: string; readonly sender: string }
  readonly rid: string | undefined
  readonly taken: { readonly items: readonly Item[] }
}

/** Where the items of a buffer go, by the code, which counts from 1: the next role on the path. */
const TOWARDS: readonly Toward[] = ['SP', 'SR', 'RR', 'RP', 'RC', 'SI']
/** Towards these, a part is one receiver's. */
const OF_RECEIVERS: readonly Toward[] = ['RP', 'RC', 'SI']
const BUFFERS: readonly string[] = ['SPB', 'SRB', 'RRB', 'RPB', 'RCB', 'SIB']

/** What an item begins with. */
const EVENTS = 1
const DIGEST = 2
const MARKER = 3
const END = 4
/** The same as EVENTS and DIGEST, leaning on the item before. */
const EVENTS_BEHIND = 5
const DIGEST_BEHIND = 6

/** Hex digits of a part's sender: of one ID, or two. */
const ID_LENGTH = 64
const PAIR_LENGTH = 128

/** Room for a frame's and a part's header, with new names, and at most for what is copied of the rest. */
const HEADER_BYTES = 16
const PART_BYTES = 128
const COPIED_BYTES = 8_192

/** The sending side of a data stream. */
export class FrameEncoder {
  readonly #undo = new Undo()
  readonly #names = new SentNames(this.#undo)
  readonly #schemas = new SentSchemas(this.#undo)
  #replaced = 0

  /** How many items could not be sent. */
  get replaced(): number {
    return this.#replaced
  }

  /**
   * The frame of a batch. An item that no frame can hold, such as a digest that has grown too large, is replaced by a
   * marker: it becomes a gap. Throws FRAME_INVALID for parts that cannot be sent, and then is as it was before.
   */
  encode(batch: Outgoing): Uint8ArrayList {
    const frame = this.#attempt(batch) ?? this.#attempt(replaced(batch, FrameEncoder.fits))
    return frame ?? this.#frame(replaced(batch, isMarker))
  }

  /** Whether a frame could hold this item if it held nothing else. */
  static fits(item: Item, part: OutgoingPart): boolean {
    return (
      new FrameEncoder().#attempt({ number: 1, bytes: 0, parts: [{ ...part, taken: { items: [item] } }] }) !==
      undefined
    )
  }

  /** Undefined when the batch does not make a frame. */
  #attempt(batch: Outgoing): Uint8ArrayList | undefined {
    try {
      return this.#frame(batch)
    } catch (error) {
      if (!(error instanceof SpillwayError)) throw error
      return undefined
    }
  }

  #frame({ number, bytes, parts, replaced = 0 }: Mended): Uint8ArrayList {
    try {
      const writer = new FrameWriter(HEADER_BYTES + PART_BYTES * parts.length + Math.min(bytes, COPIED_BYTES))
      writer.byte(WIRE_VERSION)
      writer.varint(number)
      for (const part of parts) this.#part(writer, part)
      if (writer.length > MAX_FRAME_BYTES) throw invalidFrame(`has more than ${MAX_FRAME_BYTES} bytes`)
      this.#undo.forget()
      this.#replaced += replaced
      return writer.finish()
    } catch (error) {
      // The other side will not hear what this frame said for the first time.
      this.#undo.run()
      throw error
    }
  }

  #part(writer: FrameWriter, { slot, rid, taken: { items } }: OutgoingPart): void {
    const code = BUFFERS.indexOf(slot.buffer) + 1
    if (code === 0) throw invalidFrame(`cannot hold items of ${slot.buffer}`)
    checkSender(TOWARDS[code - 1]!, slot.sender)
    writer.spend(1 + items.length)
    writer.byte(code)
    this.#names.write(writer, slot.sender)
    this.#names.write(writer, rid)
    writer.varint(items.length)
    let before: Place | undefined
    for (const item of items) {
      this.#item(writer, item, before)
      before = placeBehind(item, before)
    }
  }

  #item(writer: FrameWriter, item: Item, before: Place | undefined): void {
    switch (item.kind) {
      case 'events': {
        const isBehind = runFollows(item, before)
        writer.byte(isBehind ? EVENTS_BEHIND : EVENTS)
        this.#schemas.write(writer, item.block.schema)
        if (isBehind) writeRunBehind(writer, item, before)
        else writeRun(writer, item)
        return
      }
      case 'digest': {
        const isBehind = digestFollows(item, before)
        writer.byte(isBehind ? DIGEST_BEHIND : DIGEST)
        writeDigest(writer, item, this.#names, isBehind ? before : undefined)
        return
      }
      case 'marker':
        writer.byte(item.end ? END : MARKER)
        writer.varint(item.epoch)
        writer.varint(item.highest)
    }
  }
}

interface Mended extends Outgoing {
  /** How many of its items were replaced. */
  readonly replaced?: number
}

/** The batch with markers in place of the items that do not fit. */
function replaced(batch: Outgoing, fits: (item: Item, part: OutgoingPart) => boolean): Mended {
  let replaced = 0
  const parts = batch.parts.map((part) => {
    const items = part.taken.items.map((item) => {
      if (fits(item, part)) return item
      replaced++
      return markerAfter(item)
    })
    return { ...part, taken: { items } }
  })
  return { ...batch, parts, replaced }
}

function isMarker(item: Item): boolean {
  return item.kind === 'marker'
}

/** It says how far the stream has come. */
function markerAfter(item: Item): Marker {
  const next = nextAfter(item)
  return { kind: 'marker', epoch: epochOf(item), highest: (next?.seq ?? 1) - 1, end: false }
}

/** The receiving side of a data stream. */
export class FrameDecoder {
  readonly #names = new ReceivedNames()
  readonly #schemas = new ReceivedSchemas()
  #isBroken = false

  /**
   * What a frame holds. Events stay where they are in the frame, which nobody may write any more. Throws
   * FRAME_INVALID, and from then on for every frame of the stream: it is to be closed.
   */
  decode(frame: Uint8Array): DataFrame {
    if (this.#isBroken) throw invalidFrame('follows one that was not valid')
    this.#isBroken = true
    const reader = new FrameReader(frame)
    const number = reader.count('the number of a batch', Number.MAX_SAFE_INTEGER, 1)
    const parts: DataPart[] = []
    do parts.push(this.#part(reader))
    while (reader.left > 0)
    this.#isBroken = false
    return { number, parts }
  }

  #part(reader: FrameReader): DataPart {
    const code = reader.byte()
    const toward = TOWARDS[code - 1]
    if (toward === undefined) throw invalidFrame(`has ${code} as where a part goes`)
    const sender = this.#names.read(reader)
    checkSender(toward, sender)
    const rid = this.#names.read(reader)
    if (rid !== undefined && rid.length !== ID_LENGTH)
      throw invalidFrame('has a part for something without an ID')
    return { toward, sender, rid, items: this.#items(reader) }
  }

  #items(reader: FrameReader): Item[] {
    const count = reader.count('the number of items', MAX_FRAME_ENTRIES, 1)
    reader.spend(1 + count)
    const items: Item[] = []
    let before: Place | undefined
    for (let i = 0; i < count; i++) {
      const item = this.#item(reader, before)
      items.push(item)
      before = placeBehind(item, before)
    }
    return items
  }

  #item(reader: FrameReader, before: Place | undefined): Item {
    const kind = reader.byte()
    switch (kind) {
      case EVENTS:
        return readRun(reader, this.#schemas.read(reader))
      case DIGEST:
        return readDigest(reader, this.#names)
      case EVENTS_BEHIND:
        return readRun(reader, this.#schemas.read(reader), placeBefore(before))
      case DIGEST_BEHIND:
        return readDigest(reader, this.#names, placeBefore(before))
      case MARKER:
      case END:
        return readMarker(reader, kind === END)
      default:
        throw invalidFrame(`has an item of unknown kind ${kind}`)
    }
  }
}

/** The place of an item that another says it follows. */
function placeBefore(before: Place | undefined): Place {
  if (before === undefined) throw invalidFrame('has an item that follows none')
  return before
}

function readMarker(reader: FrameReader, end: boolean): Marker {
  return { kind: 'marker', epoch: reader.varint(), highest: reader.varint(), end }
}

function checkSender(toward: Toward, sender: string | undefined): asserts sender is string {
  if (sender?.length !== (OF_RECEIVERS.includes(toward) ? PAIR_LENGTH : ID_LENGTH)) {
    throw invalidFrame(`has a part towards ${toward} whose sender is not named as it should be`)
  }
}
