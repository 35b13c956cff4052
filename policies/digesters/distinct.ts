// DISTINCT: how many different values, by HyperLogLog (Flajolet et al., AofA 2007) with the estimator of
// Ertl, "New cardinality estimation algorithms for HyperLogLog sketches" (2017), section 3, which needs no
// switch to linear counting. Up to EXACT_LIMIT values it keeps their hashes and is exact.
import { defineDigester } from '../digester.ts'
import { identityOf, isMissing, type Value } from '../event.ts'
import { placeOf } from './sorted.ts'

/** 2^10 registers: 1 KiB, standard error 1.04 / 32 = 3.3 %. */
const REGISTER_BITS = 10
const REGISTERS = 2 ** REGISTER_BITS

/** Hashes kept before registers are: 64 of 8 bytes are still smaller than the registers. */
const EXACT_LIMIT = 64

/** Bits of a hash after those that name its register. */
const RANK_BITS = 53 - REGISTER_BITS

/**
 * Rising hashes of all values and no registers, or, for more than EXACT_LIMIT hashes, none and the registers.
 * Both depend only on the set of values, so merging is associative, commutative and idempotent.
 */
type DistinctState = [hashes: number[], registers: Uint8Array]

export const DISTINCT = defineDigester<DistinctState>({
  name: 'DISTINCT',
  summary: 'about how many different values (exact up to 64, then within about 3 %)',
  attribute: true,
  create: () => [[], new Uint8Array(0)],
  add(state, values, from, to) {
    for (let i = from; i < to; i++) {
      const value = values[i]
      if (!isMissing(value)) addHash(state, hashOf(value))
    }
  },
  merge(state, later) {
    for (const hash of later[0]) addHash(state, hash)
    if (later[1].length > 0) mergeRegisters(state, later[1])
  },
  show: ([hashes, registers]) => (registers.length === 0 ? hashes.length : estimate(registers)),
})

/** A hash of 53 bits that is the same on every machine; `seed` counts with its lowest 32 bits. */
export function hashNumber(value: number, seed: number): number {
  // 0 and -0 are equal, so they must have the same bits.
  float.setFloat64(0, value + 0)
  return finish(
    step(step(seed ^ LANE_1, float.getUint32(0), MULTIPLIER_1), float.getUint32(4), MULTIPLIER_1),
    step(step(seed ^ LANE_2, float.getUint32(0), MULTIPLIER_2), float.getUint32(4), MULTIPLIER_2),
  )
}

const LANE_1 = 0x9e3779b9
const LANE_2 = 0x7f4a7c15
const MULTIPLIER_1 = 0x9e3779b1
const MULTIPLIER_2 = 0x5f356495

/** Seeds by kind, so that 1, "1" and true are different values. */
const NUMBER_SEED = 1
const TEXT_SEED = 2
const BOOLEAN_SEED = 3

/** Scratch for the bits of one number, never read across calls. */
const float = new DataView(new ArrayBuffer(8))

function hashOf(value: Value): number {
  const identity = identityOf(value)
  if (typeof identity === 'number') return hashNumber(identity, NUMBER_SEED)
  if (typeof identity === 'string') return hashText(identity)
  return hashNumber(identity ? 1 : 0, BOOLEAN_SEED)
}

function hashText(text: string): number {
  let a = TEXT_SEED ^ LANE_1
  let b = TEXT_SEED ^ LANE_2
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    a = step(a, unit, MULTIPLIER_1)
    b = step(b, unit, MULTIPLIER_2)
  }
  return finish(a, b)
}

function step(hash: number, word: number, multiplier: number): number {
  const product = Math.imul(hash ^ word, multiplier)
  return product ^ (product >>> 15)
}

/** Mixes two lanes into 53 bits with the finaliser of MurmurHash3. */
function finish(a: number, b: number): number {
  const high = avalanche(a ^ Math.imul(b, MULTIPLIER_1))
  const low = avalanche(b ^ Math.imul(high, MULTIPLIER_2))
  return (high >>> 0) * 2 ** 21 + (low >>> 11)
}

function avalanche(hash: number): number {
  let h = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}

function addHash(state: DistinctState, hash: number): void {
  const [hashes, registers] = state
  if (registers.length > 0) raise(registers, hash)
  else if (insert(hashes, hash) > EXACT_LIMIT) useRegisters(state)
}

/** Adds a hash that is not there yet, and returns how many there are. */
function insert(hashes: number[], hash: number): number {
  const place = placeOf(hashes, hash)
  if (hashes[place] !== hash) hashes.splice(place, 0, hash)
  return hashes.length
}

function useRegisters(state: DistinctState): void {
  const registers = new Uint8Array(REGISTERS)
  for (const hash of state[0]) raise(registers, hash)
  state[0] = []
  state[1] = registers
}

/** The first bits name the register, which keeps the largest position of the first 1 among the others. */
function raise(registers: Uint8Array, hash: number): void {
  const register = Math.floor(hash / 2 ** RANK_BITS)
  const rest = hash - register * 2 ** RANK_BITS
  const high = Math.floor(rest / 2 ** 32)
  const leadingZeros = high > 0 ? Math.clz32(high) - (64 - RANK_BITS) : RANK_BITS - 32 + Math.clz32(rest)
  if (registers[register]! <= leadingZeros) registers[register] = leadingZeros + 1
}

function mergeRegisters(state: DistinctState, later: Uint8Array): void {
  if (state[1].length === 0) useRegisters(state)
  const registers = state[1]
  for (let i = 0; i < REGISTERS; i++) {
    if (later[i]! > registers[i]!) registers[i] = later[i]!
  }
}

function estimate(registers: Uint8Array): number {
  let zeros = 0
  let sum = 0
  for (const rank of registers) {
    if (rank === 0) zeros++
    else sum += 2 ** -rank
  }
  const harmonic = sum + REGISTERS * sigma(zeros / REGISTERS)
  return Math.round(REGISTERS ** 2 / (2 * Math.LN2 * harmonic))
}

/** Ertl's correction for registers still 0: x + sum of x^(2^k) 2^(k-1). At least one register is raised. */
function sigma(fraction: number): number {
  let power = fraction
  let weight = 1
  let sum = fraction
  for (let before = -1; sum !== before; weight *= 2) {
    before = sum
    power *= power
    sum += power * weight
  }
  return sum
}
