// What a stream says once and then by number: names of senders, receivers and policies, and schemas. Both sides
// keep the same entries, so that neither has to ask: each new one takes the next place, and where there is no room
// the oldest leave. A dictionary belongs to one stream of one connection.
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import type { Schema } from '../../buffers/codec.ts'
import { invalidFrame } from './frame-error.ts'
import type { FrameReader } from './frame-reader.ts'
import type { FrameWriter } from './frame-writer.ts'
import { MAX_NAMES, MAX_SCHEMAS, MAX_SCHEMAS_BYTES } from './limits.ts'
import { readSchema, schemaCost, writeSchema } from './schema.ts'

/** Bytes of an ID; as a name it is twice as many hex digits. */
const ID_BYTES = 32

/** References to names: none, a new one of one or of two IDs, or by place from `FIRST_NAME` on. */
const NO_NAME = 0
const NEW_ID = 1
const NEW_PAIR = 2
const FIRST_NAME = 3

/** References to schemas: a new one, or by place from `FIRST_SCHEMA` on. */
const NEW_SCHEMA = 0
const FIRST_SCHEMA = 1

interface Entry<T> {
  readonly value: T
  readonly cost: number
}

/** How to take back what a frame said for the first time, if that frame does not leave after all. */
export class Undo {
  readonly #steps: (() => void)[] = []

  note(step: () => void): void {
    this.#steps.push(step)
  }

  /** The frame leaves. */
  forget(): void {
    this.#steps.length = 0
  }

  /** Everything is as it was at the last `forget`. */
  run(): void {
    for (const step of this.#steps.reverse()) step()
    this.forget()
  }
}

/** Entries by place; the places are taken in a circle. */
class Places<T> {
  readonly #places: number
  readonly #maxCost: number
  readonly #entries: (Entry<T> | undefined)[] = []
  readonly #undo: Undo | undefined
  #oldest = 0
  #next = 0
  #cost = 0

  constructor(places: number, maxCost: number, undo?: Undo) {
    this.#places = places
    this.#maxCost = maxCost
    this.#undo = undo
  }

  at(place: number): T | undefined {
    return this.#entries[place]?.value
  }

  /** Puts a value at the next place and returns that; `leaves` is told of every value that has to go. */
  add(value: T, cost: number, leaves?: (value: T) => void): number {
    const place = this.#next
    while (this.#entries[place] !== undefined || this.#cost + cost > this.#maxCost) this.#removeOldest(leaves)
    this.#entries[place] = { value, cost }
    this.#cost += cost
    this.#next = (place + 1) % this.#places
    this.#undo?.note(() => {
      this.#entries[place] = undefined
      this.#cost -= cost
      this.#next = place
    })
    return place
  }

  #removeOldest(leaves: ((value: T) => void) | undefined): void {
    const oldest = this.#oldest
    const entry = this.#entries[oldest]!
    this.#entries[oldest] = undefined
    this.#cost -= entry.cost
    this.#oldest = (oldest + 1) % this.#places
    this.#undo?.note(() => {
      this.#entries[oldest] = entry
      this.#cost += entry.cost
      this.#oldest = oldest
    })
    leaves?.(entry.value)
  }
}

/** Whether this is a name: one ID, or two behind one another. */
export function isName(name: unknown): name is string {
  return typeof name === 'string' && /^([0-9a-f]{64}){1,2}$/.test(name)
}

/** The names a stream has sent. */
export class SentNames {
  readonly #places: Places<string>
  readonly #placeOf = new Map<string, number>()
  readonly #undo: Undo

  constructor(undo: Undo) {
    this.#places = new Places(MAX_NAMES, MAX_NAMES, undo)
    this.#undo = undo
  }

  write(writer: FrameWriter, name: string | undefined): void {
    if (name === undefined) {
      writer.varint(NO_NAME)
      return
    }
    const place = this.#placeOf.get(name)
    if (place === undefined) this.#introduce(writer, name)
    else writer.varint(place + FIRST_NAME)
  }

  #introduce(writer: FrameWriter, name: string): void {
    if (!/^([0-9a-f]{64}){1,2}$/.test(name))
      throw invalidFrame(`cannot hold the name ${JSON.stringify(name)}`)
    const bytes = hexToBytes(name)
    writer.varint(bytes.length === ID_BYTES ? NEW_ID : NEW_PAIR)
    writer.bytes(bytes)
    const place = this.#places.add(name, 1, (old) => this.#leave(old))
    this.#placeOf.set(name, place)
    this.#undo.note(() => this.#placeOf.delete(name))
  }

  #leave(old: string): void {
    const place = this.#placeOf.get(old)!
    this.#placeOf.delete(old)
    this.#undo.note(() => this.#placeOf.set(old, place))
  }
}

/** The names a stream has received. */
export class ReceivedNames {
  readonly #places = new Places<string>(MAX_NAMES, MAX_NAMES)

  /** Undefined for none. */
  read(reader: FrameReader): string | undefined {
    const reference = reader.varint()
    if (reference === NO_NAME) return undefined
    if (reference < FIRST_NAME) return this.#introduce(reader, reference === NEW_ID ? ID_BYTES : 2 * ID_BYTES)
    const name = this.#places.at(reference - FIRST_NAME)
    if (name === undefined) throw invalidFrame(`refers to name ${reference}, which is not known`)
    return name
  }

  /** A name of one ID. */
  readId(reader: FrameReader): string {
    const id = this.read(reader)
    if (id?.length !== 2 * ID_BYTES) throw invalidFrame('has another name where an ID is expected')
    return id
  }

  #introduce(reader: FrameReader, bytes: number): string {
    const name = bytesToHex(reader.bytes(bytes))
    this.#places.add(name, 1)
    return name
  }
}

/** The schemas a stream has sent: those with the same tags are one. */
export class SentSchemas {
  readonly #places: Places<SentSchema>
  readonly #undo: Undo
  readonly #byTags = new Map<string, SentSchema>()
  /** So that the tags of a schema are looked at once. */
  readonly #known = new WeakMap<Schema, SentSchema>()

  constructor(undo: Undo) {
    this.#places = new Places(MAX_SCHEMAS, MAX_SCHEMAS_BYTES, undo)
    this.#undo = undo
  }

  write(writer: FrameWriter, schema: Schema): void {
    const known = this.#known.get(schema) ?? this.#find(schema)
    if (known.place === undefined) this.#introduce(writer, known, schema)
    else writer.varint(known.place + FIRST_SCHEMA)
  }

  #find(schema: Schema): SentSchema {
    const key = JSON.stringify(schema.tags)
    const found = this.#byTags.get(key) ?? { key, place: undefined }
    this.#known.set(schema, found)
    return found
  }

  #introduce(writer: FrameWriter, sent: SentSchema, schema: Schema): void {
    writer.varint(NEW_SCHEMA)
    writeSchema(writer, schema)
    sent.place = this.#places.add(sent, schemaCost(schema), (old) => this.#leave(old))
    const before = this.#byTags.get(sent.key)
    this.#byTags.set(sent.key, sent)
    this.#undo.note(() => {
      sent.place = undefined
      if (before === undefined) this.#byTags.delete(sent.key)
      else this.#byTags.set(sent.key, before)
    })
  }

  #leave(old: SentSchema): void {
    const { place } = old
    old.place = undefined
    const isFound = this.#byTags.get(old.key) === old
    if (isFound) this.#byTags.delete(old.key)
    this.#undo.note(() => {
      old.place = place
      if (isFound) this.#byTags.set(old.key, old)
    })
  }
}

interface SentSchema {
  /** Of its tags. */
  readonly key: string
  /** Undefined while the other side does not have it. */
  place: number | undefined
}

/** The schemas a stream has received: one object each, as long as it is remembered. */
export class ReceivedSchemas {
  readonly #places = new Places<Schema>(MAX_SCHEMAS, MAX_SCHEMAS_BYTES)

  read(reader: FrameReader): Schema {
    const reference = reader.varint()
    if (reference === NEW_SCHEMA) return this.#introduce(reader)
    const schema = this.#places.at(reference - FIRST_SCHEMA)
    if (schema === undefined) throw invalidFrame(`refers to schema ${reference}, which is not known`)
    return schema
  }

  #introduce(reader: FrameReader): Schema {
    const schema = readSchema(reader)
    this.#places.add(schema, schemaCost(schema))
    return schema
  }
}
