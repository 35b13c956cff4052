// The limits of a policy. Policies come from strangers and run on shared nodes.

/** What a policy may have at most; more is refused with POLICY_LIMIT. */
export const policyLimits = Object.freeze({
  /** As written, and printed as XML: it travels with every subscription. */
  bytes: 65_536,
  /** A ladder moves one level at a time; beyond some tens the top is never reached in time. */
  levels: 32,
  /** Packing at the top runs the filters of all levels over the whole queue: at most 512 passes. */
  filtersPerLevel: 16,
  /** Each digest in each queue carries a state for each of them. */
  digesters: 16,
  /** Values of one set; as many as fit into `bytes` with room for the rest. */
  members: 1024,
  /** Characters of a text parameter such as MATCH's pattern: the matcher's program grows with it. */
  patternLength: 512,
  /** Of the matcher's programs for all patterns: each may run for each character, in up to 17 ns. */
  patternInstructions: 300,
  /** Characters of a value or of an attribute's name. */
  textLength: 1024,
  /** Elements inside elements; the language needs four. */
  depth: 16,
  /** Of a filter or another part as a plain object; no built-in filter needs more than five. */
  keys: 64,
})

/** Characters that no policy has: XML 1.0 cannot hold them, even as a character reference. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
export const UNWRITABLE = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/
