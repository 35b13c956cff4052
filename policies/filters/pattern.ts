// The regular expressions of strangers: matched in linear time by re2js, whose work and memory are bounded here.
import { RE2JS } from 're2js'
import { SpillwayError } from '../error.ts'
import { policyLimits } from '../limits.ts'

/** Memory of a pattern's automaton: patterns that people write need some tens of kilobytes, letters of all scripts 300. */
const AUTOMATON_BYTES = 512 * 1024

/** Patterns that may need this many times the limit are not even compiled: the estimate is seldom twice too high. */
const HOPELESS = 4

/** A compiled pattern. */
export interface Pattern {
  /** Instructions of its program: each may run for each character of a text. */
  readonly instructions: number
  /** Whether the pattern is found in the text. */
  test(text: string): boolean
  /** Forgets that a text was too much for the automaton. */
  refresh(): void
}

/** Throws POLICY_LIMIT for a pattern whose program is too long, if possible before it is made. */
export function compilePattern(pattern: string, ignoresCase: boolean): Pattern {
  const { patternInstructions: limit } = policyLimits
  const isHopeless = mostInstructions(pattern) > HOPELESS * limit
  const expression = isHopeless ? undefined : parsePattern(pattern, ignoresCase ? RE2JS.CASE_INSENSITIVE : 0)
  const instructions = expression?.programSize() ?? Infinity
  if (expression !== undefined && instructions <= limit) return bounded(expression, instructions)
  throw new SpillwayError(
    'POLICY_LIMIT',
    `pattern needs ${expression ? instructions : 'far more'} instructions, the limit is ${limit}: expected fewer or smaller repeats`,
  )
}

function parsePattern(pattern: string, flags: number): RE2JS {
  try {
    return RE2JS.compile(pattern, flags)
  } catch (error) {
    const wrong = (error as Error).message.replace('error parsing regexp', 'pattern')
    throw new Error(`${wrong}, expected RE2 syntax`, { cause: error })
  }
}

/**
 * re2js remembers the sets of instructions it was in, up to 8 MB of them (a lazy DFA). That is fast unless nearly
 * every character leads to a new one, as in `[ab]*a[ab]{99}c`: making one takes ten times as long as going
 * through the instructions. So it makes what fits into AUTOMATON_BYTES, and then none until it is refreshed.
 */
function bounded(expression: RE2JS, instructions: number): Pattern {
  const { dfa } = expression.re2()
  dfa.stateBudget = AUTOMATON_BYTES
  dfa.memBudget = AUTOMATON_BYTES
  dfa.resetCache = () => {
    dfa.clearCache()
    dfa.failed = true
    return null
  }
  return {
    instructions,
    test: (text) => expression.test(text),
    refresh: () => {
      dfa.failed = false
    },
  }
}

// Flags, quoted text, an escaped character, a class, the opening of a group, a repeat, or any other character.
const TOKENS =
  /\(\?[\w-]*\)|\\Q.*?(?:\\E|$)|\\(?:[xpP]\{[^}]*\}|.)|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|\((?:\?(?:P?<\w+>|:))?|\{(\d+),?(\d*)\}|./gs

/** Instructions that a pattern has at most, without compiling it: nested repeats multiply. */
export function mostInstructions(pattern: string): number {
  const around: number[] = []
  let group = 0
  // What a repeat would repeat: the last character, class or group, already counted once in `group`.
  let last = 0
  for (const [token, least, most] of pattern.matchAll(TOKENS)) {
    // Flags are nothing that a repeat could repeat: it means what stands before them.
    if (token.startsWith('(?') && token.endsWith(')')) continue
    if (token.startsWith('(')) {
      around.push(group)
      group = 0
    } else if (token === ')') {
      // One that captures has an instruction at each end, an empty one has one inside.
      last = group + 3
      group = last + (around.pop() ?? 0)
    } else if (least !== undefined) {
      const repeated = (last + 1) * Math.max(1, Number(most || least)) + 1
      group += repeated - last
      last = repeated
    } else if ('?*+'.includes(token)) {
      last += 2
      group += 2
    } else {
      last = token === '|' ? 2 : token.startsWith('\\Q') ? token.length : 1
      group += last
    }
  }
  // Three are in every program.
  return around.reduce((sum, size) => sum + size, group + 3)
}
