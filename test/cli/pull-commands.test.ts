// replay, publish-model and crawl: what they print, and what they say of mistakes.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { spillway } from './in-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'spillway-pull-'))
afterAll(() => rmSync(folder, { recursive: true }))

function file(name: string, content: string): string {
  writeFileSync(join(folder, name), content)
  return join(folder, name)
}

function jsonLines(text: string) {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

const { stdout: modelled } = await spillway(['publish-model', '--count', '2000', '--seed', '3'])
const trace = file('trace.txt', modelled)

describe('publish-model', () => {
  test('writes a trace, the same for the same seed', async () => {
    const times = modelled.trimEnd().split('\n').map(Number)
    expect(times).toHaveLength(2_000)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect(times.at(-1)! / 2_000).toBeGreaterThan(300)
    expect((await spillway(['publish-model', '--count', '2000', '--seed', '3'])).stdout).toBe(modelled)
    expect((await spillway(['publish-model', '--count', '2000', '--seed', '4'])).stdout).not.toBe(modelled)
  })

  test.each([
    [['--pss', '1.2'], '--pss: expected a probability, got "1.2"'],
    [['--interval', '0'], '--interval: expected seconds above 0'],
    [['--interval', '1e308'], '--interval: expected seconds above 0'],
    [['--jitter', '1e308'], '--jitter: expected seconds from 0'],
    [['--count', 'x'], '--count: expected a whole number'],
  ])('refuses %j', async (argv, message) => {
    const { code, stderr } = await spillway(['publish-model', ...argv])
    expect(code).toBe(2)
    expect(stderr).toContain(message)
  })
})

describe('replay', () => {
  test('prints a JSON line a schedule', async () => {
    const argv = ['dpt-a', 'dpt-n', 'dpt-l', 'bimodal-l', 'best', 'fixed:300'].flatMap((name) => [
      '--schedule',
      name,
    ])
    const { code, stdout } = await spillway(['replay', trace, ...argv, '--json'])
    expect(code).toBe(0)
    const rows = jsonLines(stdout)
    expect(rows.map(({ schedule }) => schedule)).toEqual(argv.filter((word) => word !== '--schedule'))
    for (const { published, polls, hits, hitPercent, latency } of rows) {
      expect([published, hits]).toEqual([2_000, 2_000])
      expect(hitPercent).toBeCloseTo((100 * hits) / polls, 2)
      expect(Object.keys(latency)).toEqual(['median', 'mean', 'stddev', 'p95'])
    }
    const [, normal, lazy, , best] = rows
    expect(best.hitPercent).toBeGreaterThanOrEqual(lazy.hitPercent)
    expect(best.latency.mean).toBeLessThan(0.4 * normal.latency.mean)
  })

  test('prints a table, from stdin too, with the printed form beside the intended', async () => {
    const { stdout } = await spillway(['replay', '-', '--schedule', 'dpt-l,dpt-l:printed'], {
      stdin: modelled,
    })
    expect(stdout.split('\n')[0]).toMatch(/^schedule +published +polls +hits +hit % +median s/)
    expect(stdout).toMatch(/\ndpt-l +2000 /)
    expect(stdout).toMatch(/\ndpt-l:printed +2000 /)
  })

  test('counts as told: one reading a poll, at or before the poll', async () => {
    const { stdout } = await spillway(['replay', '-', '--schedule', 'fixed:10', '--phase', '5', '--json'], {
      stdin: '100\n101\n\n105\n130\n',
    })
    expect(JSON.parse(stdout)).toEqual({
      schedule: 'fixed:10',
      published: 4,
      polls: 6,
      hits: 4,
      hitPercent: 66.667,
      latency: { median: 4.5, mean: 3.5, stddev: expect.closeTo(2.062, 3), p95: 5 },
    })
  })

  test('names the traces when there are several', async () => {
    const { stdout } = await spillway(['replay', trace, trace, '--schedule', 'dpt-n', '--json'])
    expect(jsonLines(stdout).map((row) => row.trace)).toEqual([trace, trace])
  })

  test('gives best, mean and worst of several random phases', async () => {
    const argv = ['replay', trace, '--schedule', 'fixed:300', '--phase', 'random', '--runs', '8', '--json']
    const rows = jsonLines((await spillway(argv)).stdout)
    expect(rows.map(({ run }) => run)).toEqual(['best', 'mean', 'worst'])
    expect(rows[0].latency.mean).toBeLessThan(rows[1].latency.mean)
    expect(rows[1].latency.mean).toBeLessThan(rows[2].latency.mean)
  })

  test('replays several traces as one republisher', async () => {
    const other = file(
      'other.txt',
      (await spillway(['publish-model', '--count', '2000', '--seed', '9'])).stdout,
    )
    const argv = ['replay', trace, other, trace, '--multi', '2']
    const names = ['mdpt', 'mdpt-l', 'fixed:600'].flatMap((name) => ['--schedule', name])
    const rows = jsonLines((await spillway([...argv, ...names, '--json'])).stdout)
    for (const { rounds, republished, hitPercent } of rows)
      expect(hitPercent).toBeCloseTo((100 * republished) / rounds, 2)
    expect(rows[0].latency.mean).toBeLessThan(rows[2].latency.mean)
    expect((await spillway(argv)).stdout).toMatch(/\nmdpt +\d+/)
    expect((await spillway([...argv, '--candidates', '3', '--json'])).code).toBe(0)
  })

  test('prints the fitted model', async () => {
    const { stdout } = await spillway(['replay', trace, '--fit', '--json'])
    const fit = JSON.parse(stdout)
    expect(fit.interval).toBeCloseTo(300, -1)
    expect(fit.pss).toBeCloseTo(0.95, 1)
    expect(fit.chiSquared.markov).toBeLessThan(fit.chiSquared.noFailure)
    expect((await spillway(['replay', trace, '--fit'])).stdout).toMatch(/^interval +\d/)
  })

  test('sets outages apart when told to', async () => {
    const stdin = `${modelled}${Array.from({ length: 50 }, (_, i) => 2_000_000 + 300 * i).join('\n')}\n`
    const argv = ['replay', '-', '--schedule', 'dpt-n', '--json']
    const all = JSON.parse((await spillway(argv, { stdin })).stdout)
    const apart = JSON.parse((await spillway([...argv, '--apart'], { stdin })).stdout)
    expect(apart.latency.mean).toBeLessThan(all.latency.mean / 2)
    expect(apart.hits).toBeLessThan(all.hits)
  })

  test.each([
    [
      'words',
      '1\nx\n3\n2\n',
      ['-:2: expected seconds, got "x"', '-:4: expected ascending times, got 2 after 3'],
    ],
    [
      'numbers of another kind',
      '0x10\nInfinity\n1e2\n+200.5\n',
      ['-:1: expected seconds', '-:2: expected seconds'],
    ],
    ['nothing', '\n', ['-: expected publish times']],
    ['times that no clock tells', '1e300\n2e300\n', ['-:1: expected seconds up to 9007199254740, got 1e300']],
  ])('says what is wrong with %s', async (_, stdin, messages) => {
    const { code, stderr } = await spillway(['replay', '-'], { stdin })
    expect(code).toBe(1)
    for (const message of messages) expect(stderr).toContain(message)
  })

  test.each([
    [['--schedule', 'dpt-q'], 'unknown schedule "dpt-q" (did you mean "dpt-'],
    [['--schedule', 'best:printed'], 'unknown schedule "best:printed"'],
    [['--schedule', 'fixed:0'], 'expected fixed:SECONDS above 0, at least 0.001'],
    [['--schedule', 'fixed:1e-9'], 'expected fixed:SECONDS above 0, at least 0.001'],
    [['--schedule', 'fixed: '], 'expected fixed:SECONDS above 0, at least 0.001'],
    [['--schedule', 'best', '--multi', '1'], 'unknown schedule "best"'],
    [['--multi', '3'], '--multi: expected a whole number from 1 to the 1 traces'],
    [['--phase', 'soon'], '--phase: expected random, or seconds from 0'],
  ])('refuses %j', async (argv, message) => {
    const { code, stderr } = await spillway(['replay', trace, ...argv])
    expect(code).toBe(2)
    expect(stderr).toContain(message)
  })

  test('refuses a fixed interval that would poll for ever', async () => {
    const argv = ['replay', '-', '--schedule', 'fixed:0.01']
    const { code, stderr } = await spillway(argv, { stdin: '0\n1e9\n' })
    expect(code).toBe(2)
    expect(stderr).toContain('--schedule: fixed:0.01 polls - 1e+11 times, at most 1e+9')
    expect((await spillway([...argv, '--multi', '1'], { stdin: '0\n1e9\n' })).code).toBe(2)
  })

  test('asks no more than a thousand million polls of a fixed interval, and answers a long one', async () => {
    const argv = ['replay', '-', '--schedule', 'fixed:1e9', '--phase', '0', '--json']
    const { stdout } = await spillway(argv, { stdin: '0\n1e9\n' })
    expect(JSON.parse(stdout)).toMatchObject({ polls: 2, hits: 2, latency: { mean: 0 } })
  })

  test('a fit takes readings of one time for one publication, and no jitter for a perfect fit', async () => {
    const stdin = Array.from({ length: 50 }, (_, i) => `${60 * i}\n`.repeat(3)).join('')
    const fit = JSON.parse((await spillway(['replay', '-', '--fit', '--json'], { stdin })).stdout)
    expect(fit).toMatchObject({ interval: 60, pss: 1, jitter: 0, bursts: 0, outages: 0 })
    expect(fit.kolmogorovSmirnov).toEqual({ laplace: 0, normal: 0 })
    const { code } = await spillway(['replay', '-', '--fit'], { stdin: '5\n5\n5\n5\n' })
    expect(code).toBe(1)
  })

  test('a missing trace is named', async () => {
    const { code, stderr } = await spillway(['replay', join(folder, 'none.txt')])
    expect(code).toBe(1)
    expect(stderr).toContain('none.txt')
  })
})

describe('crawl', () => {
  const problem = {
    horizon: 100,
    step: 5,
    budget: 9,
    sensors: [
      {
        id: 'a',
        rate: 0.2,
        weight: 1,
        maxCrawls: 9,
        awake: [
          [0, 40],
          [60, 100],
        ],
      },
      { id: 'b', rate: 0.5, weight: 2, maxCrawls: 3, awake: [[10, 33]] },
    ],
  }
  const path = file('problem.json', JSON.stringify(problem))

  test('prints crawls, latencies and their weighted sum', async () => {
    const { code, stdout } = await spillway(['crawl', path, '--json'])
    expect(code).toBe(0)
    const { sensors, expectedLatency } = JSON.parse(stdout)
    expect(sensors.map(({ id }: { id: string }) => id)).toEqual(['a', 'b'])
    expect(sensors[1].crawls).toHaveLength(3)
    expect(sensors[1].crawls.at(-1)).toBe(33)
    expect(expectedLatency).toBeCloseTo(sensors[0].expectedLatency + 2 * sensors[1].expectedLatency, 9)
    expect((await spillway(['crawl', path])).stdout).toMatch(
      /^sensor +crawls +expected latency\na +\d+ +[\d.]+ {2}at /,
    )
  })

  test('by dp is best, by greedy between, at random worst and by the seed', async () => {
    const total = async (...argv: string[]) =>
      JSON.parse((await spillway(['crawl', path, '--json', ...argv])).stdout).expectedLatency
    const [dp, greedy, random] = [
      await total(),
      await total('--method', 'greedy'),
      await total('--method', 'random'),
    ]
    expect(dp).toBeLessThanOrEqual(greedy)
    expect(greedy).toBeLessThan(random)
    expect(await total('--method', 'random', '--seed', '1')).toBe(random)
    expect(await total('--method', 'random', '--seed', '2')).not.toBe(random)
  })

  test.each([
    [
      '{"horizon":0,"step":1,"budget":1,"sensors":[]}',
      ['horizon: expected a number above 0', 'expected sensors'],
    ],
    ['{', ['JSON']],
    [JSON.stringify({ ...problem, budget: 1 }), ['a budget of 1 is below one crawl for each of 2 sensors']],
    [JSON.stringify({ ...problem, horizon: 5 }), ['sensor b is never awake before 5']],
    [JSON.stringify({ ...problem, step: 1e-7 }), ['take a larger step']],
    [
      JSON.stringify({ ...problem, sensors: [problem.sensors[0], problem.sensors[0]] }),
      ['two sensors have the id "a"'],
    ],
  ])('says what is wrong with %s', async (stdin, messages) => {
    const { code, stderr } = await spillway(['crawl', '-'], { stdin })
    expect(code).toBe(1)
    for (const message of messages) expect(stderr).toContain(message)
  })

  test('refuses a method there is not', async () => {
    expect((await spillway(['crawl', path, '--method', 'best'])).code).toBe(2)
  })
})

test.each(['replay', 'publish-model', 'crawl'])(
  '%s --help has usage, an example and exit codes',
  async (name) => {
    const { code, stdout } = await spillway([name, '--help'])
    expect(code).toBe(0)
    for (const part of [`Usage: spillway ${name}`, 'Example:', 'Exit codes:']) expect(stdout).toContain(part)
  },
)
