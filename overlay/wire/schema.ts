// A schema on the wire: how many tags, and each as text.
import type { Schema } from '../../buffers/codec.ts'
import { invalidFrame } from './frame-error.ts'
import type { FrameReader } from './frame-reader.ts'
import type { FrameWriter } from './frame-writer.ts'
import { MAX_TAGS, MAX_TAGS_BYTES, SCHEMA_OVERHEAD_BYTES } from './limits.ts'

const textEncoder = new TextEncoder()

/** Whether these tags can be sent: well-formed texts, not too many and not too long. */
export function areTags(tags: readonly string[]): boolean {
  return (
    tags.length <= MAX_TAGS &&
    tags.every((tag) => tag.length <= MAX_TAGS_BYTES && tag.isWellFormed()) &&
    bytesOf(tags) <= MAX_TAGS_BYTES
  )
}

/** What a schema counts in a stream's dictionary, in bytes. */
export function schemaCost({ tags }: Schema): number {
  return SCHEMA_OVERHEAD_BYTES * (1 + tags.length) + bytesOf(tags)
}

export function writeSchema(writer: FrameWriter, { tags }: Schema): void {
  if (!areTags(tags)) throw invalidFrame('cannot hold these tags: too many, too long or not well-formed')
  writer.varint(tags.length)
  for (const tag of tags) writer.text(tag, MAX_TAGS_BYTES)
}

export function readSchema(reader: FrameReader): Schema {
  const count = reader.count('the number of tags', MAX_TAGS)
  const tags: string[] = []
  for (let i = 0; i < count; i++) tags.push(reader.text(MAX_TAGS_BYTES))
  if (bytesOf(tags) > MAX_TAGS_BYTES) throw invalidFrame(`has tags of more than ${MAX_TAGS_BYTES} bytes`)
  return { tags }
}

function bytesOf(tags: readonly string[]): number {
  let bytes = 0
  for (const tag of tags) bytes += textEncoder.encode(tag).length
  return bytes
}
