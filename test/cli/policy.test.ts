// The policy commands on small inputs whose results were worked out by hand.
import { describe, expect, test } from 'vitest'
import { BAD_LINES_NAMED } from '../../cli/event-lines.ts'
import { lines, spillway } from './in-process.ts'
import { file, folder, readings, spec, ward } from './ward.ts'

describe('check', () => {
  test('says in words what a policy loses', async () => {
    const { code, stdout, stderr } = await spillway(['policy', 'check', ward])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('a policy of 2 levels\n  attribute bpm\n  level 1\n    DELTA on bpm change=5\n')
    expect(stdout).toContain('level 2, after level 1\n    EVERY n=2\n')
    expect(stdout).toMatch(/COUNT: .*\n {4}MEAN of bpm: .*\n {2}hash [0-9a-f]{64}\n$/)
  })

  test('says what mode="drop" drops, with the values of the policy', async () => {
    const filters = [
      { name: 'WITHIN', low: 50, high: 100 },
      { name: 'INSET', value: ['`low`', 'keeps'] },
      { name: 'RATE', n: 3, interval: '1s' },
      { name: 'RANDOM', fraction: 0.3 },
      { name: 'UNIQ' },
    ].map((filter) => ({ ...filter, mode: 'drop' }))
    const stdin = JSON.stringify({
      attribute: 'bpm',
      summary: [{ name: 'COUNT', attribute: 'Temp' }],
      levels: [filters],
    })
    const { stdout } = await spillway(['policy', 'check', '-'], { stdin })
    expect(stdout).toMatch(/^stdin: a policy of 1 level\n/)
    expect(stdout).toContain('\n    COUNT(Temp): how many of the events have a value of Temp\n')
    expect(stdout.match(/(?<=\n {6})\w.*/g)).toEqual([
      'drops events whose bpm is from 50 to 100, both included',
      'drops events whose bpm is one of `low`, keeps',
      'drops an event when fewer than 3 were dropped in the 1000 ms of publish time before it',
      'keeps each event with a chance of 0.3',
      'keeps events whose bpm is the same as in the event just before',
    ])
  })

  test('gives XML and JSON of the same policy the same hash', async () => {
    const xml = file('ward.xml', (await spillway(['policy', 'print', ward, '--as', 'xml'])).stdout)
    const { stdout } = await spillway(['policy', 'check', '--json', ward, xml])
    const [first, second] = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(first).toMatchObject({ file: ward, ok: true, attribute: 'bpm', digesters: ['COUNT', 'MEAN'] })
    expect(second).toEqual({ ...first, file: xml })
  })

  test('names every mistake with file, line and column, and goes on with the next file', async () => {
    const bad = file(
      'bad.xml',
      '<policy attribute="a">\n  <level><filter name="DELTAA"/></level>\n</policy>\n',
    )
    const { code, stdout, stderr } = await spillway(['policy', 'check', bad, ward])
    expect(code).toBe(1)
    expect(stderr).toMatch(/bad\.xml:2:\d+: .*DELTAA.*\(did you mean "DELTA"\?\)/)
    expect(stdout).toContain('a policy of 2 levels')
  })

  test('puts mistakes into the JSON', async () => {
    const { code, stdout, stderr } = await spillway(['policy', 'check', '-', '--json'], {
      stdin: '{"levels":[]}',
    })
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({
      file: '-',
      ok: false,
      errors: [expect.stringContaining('stdin: ')],
    })
  })

  test.each([
    ['nope.xml', 'nope.xml: no such file\n'],
    ['telemetri:bpm', '(did you mean "telemetry"?)'],
    ['telemetry', 'the preset is written telemetry:ATTRIBUTE'],
    ['telemetry:', 'telemetry:: the attribute after the colon is missing, expected telemetry:ATTRIBUTE\n'],
    [folder, 'is a directory'],
  ])('says what is wrong with %s', async (name, message) => {
    const { code, stderr } = await spillway(['policy', 'check', name])
    expect(code).toBe(1)
    expect(stderr).toContain(message)
  })

  test.each([
    ['attribute: bpm\nlevels:\n', '"attribute: bpm"'],
    ['[]', '"[]"'],
    [' \n', 'nothing'],
  ])('refuses %j, which is neither XML nor an object', async (stdin, got) => {
    const { code, stderr } = await spillway(['policy', 'check', '-'], { stdin })
    expect(code).toBe(1)
    expect(stderr).toBe(`stdin:1:1: expected XML or a JSON object, got ${got}\n`)
  })

  test.each(['', '\ufeff'])('finds the place of broken JSON behind %j', async (mark) => {
    const { stderr } = await spillway(['policy', 'check', '-'], { stdin: `${mark}{\n  "levels": ]\n}` })
    expect(stderr).toMatch(/^stdin:2:13: not JSON/)
    const first = await spillway(['policy', 'check', '-'], { stdin: `${mark}{]` })
    expect(first.stderr).toMatch(/^stdin:1:2: not JSON/)
  })

  test('refuses bytes that are not UTF-8, by their place, rather than read another name', async () => {
    const xml = '<policy attribute="é">\n  <level><filter name="UNIQ" attribute="Größe"/></level>\n</policy>'
    const half = Buffer.concat([Buffer.from(xml.slice(0, 55)), Buffer.from(xml.slice(55), 'latin1')])
    const inLatin = await spillway(['policy', 'check', '-'], { stdin: [half] })
    expect(inLatin).toEqual({
      code: 1,
      stdout: '',
      stderr: 'stdin:2:43: bytes that are not UTF-8, expected UTF-8\n',
    })
    const inUtf16 = await spillway(['policy', 'check', '-'], {
      stdin: [Buffer.from(`\ufeff${xml}`, 'utf16le')],
    })
    expect(inUtf16.stderr).toBe('stdin:1:1: bytes that are not UTF-8, expected UTF-8\n')
  })

  test.each(['json', 'xml'])('reads %s behind one byte order mark', async (form) => {
    const { stdout } = await spillway(['policy', 'print', ward, '--as', form])
    const check = (marks: string) => spillway(['policy', 'check', '-'], { stdin: `${marks}${stdout}` })
    expect(await check('\ufeff')).toEqual(await check(''))
    expect(await check('\ufeff\ufeff')).toMatchObject({ code: 1, stdout: '' })
  })

  test.each(['{"levels":[', '<policy><!--'])('reads no more of %s than a policy may have', async (start) => {
    const long = start.padEnd(65_537)
    const message = 'the policy is longer than the limit of 65536 bytes\n'
    const piped = await spillway(['policy', 'check', '-'], { stdin: [long.slice(0, 9), long.slice(9), '?'] })
    expect(piped).toEqual({ code: 1, stdout: '', stderr: `stdin:1:1: ${message}` })
    const path = file('long', long)
    expect((await spillway(['policy', 'check', path])).stderr).toBe(`${path}:1:1: ${message}`)
  })

  test('says what it waits for at a terminal', async () => {
    const { stderr } = await spillway(['policy', 'check', '-'], {
      stdin: JSON.stringify(spec),
      terminal: true,
    })
    expect(stderr).toContain('waiting for a policy')
  })
})

test.each(['telemetry', 'alerts', 'state'])(
  'print shows the preset %s, and reads back what it shows',
  async (name) => {
    for (const form of ['xml', 'json']) {
      const { code, stdout } = await spillway(['policy', 'print', `${name}:x`, '--as', form])
      expect(code).toBe(0)
      expect(await spillway(['policy', 'print', '-', '--as', form], { stdin: stdout })).toMatchObject({
        code: 0,
        stdout,
      })
    }
  },
)

describe('try', () => {
  const digestOfOne = (seq: number, MEAN: number) => ({
    digest: { COUNT: 1, MEAN },
    from: seq,
    to: seq,
    count: 1,
    causes: [{ buffer: 'try', level: 1, count: 1 }],
  })

  test('writes survivors as they were given, and digests where the others stood', async () => {
    const { code, stdout, stderr } = await spillway(['policy', 'try', ward, '--level', '1'], {
      stdin: readings,
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe(
      lines(
        { seq: 1, event: { bpm: 70 } },
        digestOfOne(2, 72),
        { seq: 3, event: { bpm: 80 } },
        digestOfOne(4, 79),
        { seq: 5, event: { bpm: 90 } },
      ),
    )
  })

  test('a higher level adds its filters to those below', async () => {
    const { stdout } = await spillway(['policy', 'try', ward, '--level', '2'], { stdin: readings })
    const [first, digest, last] = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect([first.seq, last.seq]).toEqual([1, 5])
    expect(digest).toMatchObject({ digest: { COUNT: 3, MEAN: 77 }, from: 2, to: 4, count: 3 })
    expect(digest.causes).toHaveLength(2)
    expect(digest.causes).toEqual(
      expect.arrayContaining([
        { buffer: 'try', level: 1, count: 2 },
        { buffer: 'try', level: 2, count: 1 },
      ]),
    )
  })

  test('names bad lines by number, gives them no sequence number and loses nothing else', async () => {
    const stdin = [
      '\ufeff{ "bpm" : 1.50 }\r\n\n[1]\n{"bpm":{"a":1}}\n{"bpm":[[1]]}\n{"bpm":1e999}\nnull\n{"bpm":\n',
      Buffer.from([0x22, 0xff, 0x22, 0x0a]),
      '{"bpm":null}\n{"bpm":[]}',
    ]
    const { code, stdout, stderr } = await spillway(['policy', 'try', 'state:bpm', '--level', '1'], { stdin })
    expect(code).toBe(1)
    expect(stdout).toBe(
      '{"seq":1,"event":{ "bpm" : 1.50 }}\n{"seq":2,"event":{"bpm":null}}\n{"seq":3,"event":{"bpm":[]}}\n',
    )
    const named = stderr
      .trim()
      .split('\n')
      .map((line) => line.split(': ', 1)[0])
    expect(named).toEqual([3, 4, 5, 6, 7, 8, 9].map((number) => `stdin:${number}`))
    expect(stderr).toContain('stdin:3: expected a JSON object of attributes, got an array\n')
  })

  test('names the first bad lines and counts the others', async () => {
    const stdin = lines(...Array.from({ length: 1000 }, (_, i) => ({ bpm: i })))
    const { code, stderr } = await spillway(['policy', 'try', ward, '--level', '1', '--time', 't'], { stdin })
    const said = stderr.trim().split('\n')
    expect(code).toBe(1)
    expect(said).toHaveLength(BAD_LINES_NAMED + 1)
    expect(said.at(-1)).toBe(`stdin: and ${1000 - BAD_LINES_NAMED} more bad lines`)
  })

  test('notes an attribute that no event has when the level reads it', async () => {
    const policy = file(
      'levels.json',
      '{"levels":[[{"name":"EVERY","n":2}],[{"name":"UNIQ","attribute":"bp"}]]}',
    )
    const run = (level: string) => spillway(['policy', 'try', policy, '--level', level], { stdin: readings })
    expect(await run('1')).toMatchObject({ code: 0, stderr: '' })
    expect(await run('2')).toMatchObject({
      code: 0,
      stderr: 'note: no event has the attribute "bp" (did you mean "bpm"?)\n',
    })
  })

  test('a line beyond the limit is bad, wherever the chunks end', async () => {
    const long = `{"bpm":"${'x'.repeat(700_000)}`
    const stdin = ['{"bpm":1}\n', long, 'x'.repeat(700_000), 'x'.repeat(700_000), '"}\n{"bpm":2}\n']
    const { code, stdout, stderr } = await spillway(['policy', 'try', 'state:bpm', '--level', '1'], { stdin })
    expect(code).toBe(1)
    expect(stdout).toBe(lines({ seq: 1, event: { bpm: 1 } }, { seq: 2, event: { bpm: 2 } }))
    expect(stderr).toMatch(/^stdin:2: expected at most \d+ bytes, got more\n$/)
  })

  test('takes publish times from an attribute, and now is the latest of them', async () => {
    const policy = file('age.json', '{"levels":[[{"name":"AGE","max":"10s"}]]}')
    const stdin = lines(
      { t: '2026-01-01T00:00:00Z' },
      { t: '2026-01-01T00:00:05Z' },
      { t: 1767225615000 },
      { x: 1 },
    )
    const timed = await spillway(['policy', 'try', policy, '--level', '1', '--time', 't'], { stdin })
    expect(timed.stdout.match(/"seq":\d/g)).toEqual(['"seq":2', '"seq":3'])
    expect(timed).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^stdin:4: attribute "t": .*got nothing\n$/),
    })
    const untimed = await spillway(['policy', 'try', policy, '--level', '1'], { stdin })
    expect(untimed).toMatchObject({ code: 0, stderr: expect.stringContaining('AGE goes by publish time') })
    expect(untimed.stdout.match(/"seq"/g)).toHaveLength(4)
  })

  test('the same seed gives the same result, another seed another', async () => {
    const policy = file('random.json', '{"levels":[[{"name":"RANDOM","fraction":0.5}]]}')
    const stdin = lines(...Array.from({ length: 100 }, (_, i) => ({ i })))
    const run = async (...seed: string[]) =>
      (await spillway(['policy', 'try', policy, '--level', '1', ...seed], { stdin })).stdout
    expect(await run('--seed', '1')).toBe(await run())
    expect(await run('--seed', '2')).not.toBe(await run())
  })

  test('packs 100,000 lines, each once in the output', async () => {
    const stdin = Array.from({ length: 100_000 }, (_, i) => `{"bpm":${i % 10}}\n`)
    const { code, stdout } = await spillway(['policy', 'try', ward, '--level', '2'], {
      stdin: [stdin.join('')],
    })
    expect(code).toBe(0)
    let next = 1
    for (const line of stdout.trim().split('\n')) {
      const { seq, from = seq, to = seq } = JSON.parse(line)
      expect(from === next).toBe(true)
      next = to + 1
    }
    expect(next).toBe(100_001)
  })

  test('names the mistakes of a policy by their place', async () => {
    const bad = file(
      'bad-try.xml',
      '<policy attribute="a">\n  <level><filter name="DELTAA"/></level>\n</policy>\n',
    )
    const { code, stderr } = await spillway(['policy', 'try', bad, '--level', '1'], { stdin: readings })
    expect(code).toBe(1)
    expect(stderr.startsWith(`${bad}:2:`)).toBe(true)
  })

  test('an empty input is packed to nothing', async () => {
    expect(await spillway(['policy', 'try', ward, '--level', '1'])).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    })
  })
})
