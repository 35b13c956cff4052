// `policy study`, and filters of the user's own.
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { spillway } from './in-process.ts'
import { file, folder, readings, ward } from './ward.ts'

describe('study', () => {
  test('tells what every filter saw, kept and dropped', async () => {
    const { code, stdout } = await spillway(['policy', 'study', ward, '--json'], { stdin: readings })
    expect(code).toBe(0)
    const delta = { name: 'DELTA', attribute: 'bpm', mode: 'keep', seen: 5, kept: 3, dropped: 2 }
    const every = { name: 'EVERY', attribute: null, mode: 'keep', seen: 3, kept: 2, dropped: 1 }
    expect(JSON.parse(stdout)).toEqual({
      events: 5,
      levels: [
        { level: 1, kept: 3, dropped: 2, digests: 2, filters: [delta] },
        { level: 2, kept: 2, dropped: 3, digests: 1, filters: [every] },
      ],
    })
  })

  test('draws bars on a terminal only, and points at filters that did nothing', async () => {
    const idle = file(
      'idle.json',
      '{"attribute":"bpm","levels":[[{"name":"DELTA","change":5},{"name":"UNIQ"}]]}',
    )
    const plain = await spillway(['policy', 'study', idle], { stdin: readings })
    expect(plain.stdout).toMatch(/ DELTA +bpm +5 +3 +2 +40\.0%\n/)
    expect(plain.stdout).toContain('level 1, filter 2: UNIQ on bpm dropped nothing')
    const drawn = await spillway(['policy', 'study', idle], { stdin: readings, terminal: true })
    expect(drawn.stdout).toContain('40.0%  ████████············')
    expect(drawn.stderr).toContain('waiting for events on stdin')
  })

  test('notes every attribute that the policy reads and no event has', async () => {
    const misspelt = file(
      'misspelt.json',
      '{"attribute":"bmp","summary":["MEAN",{"name":"MAX","attribute":"toString"}],"levels":[[{"name":"UNIQ"}]]}',
    )
    const { code, stderr } = await spillway(['policy', 'study', misspelt], { stdin: readings })
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr:
        'note: no event has the attribute "bmp" (did you mean "bpm"?)\n' +
        'note: no event has the attribute "toString"\n',
    })
    expect((await spillway(['policy', 'study', misspelt])).stderr).toBe('')
  })

  test('an empty input gives a table of zeros', async () => {
    const { code, stdout } = await spillway(['policy', 'study', ward])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^0 events\n/)
  })
})

describe('--use', () => {
  const definitions = `
    export const filters = [{
      name: 'NOTHING', summary: 'keeps nothing', attribute: false, parameters: {}, keep: () => () => 0,
    }]`
  const module = file('own.mjs', definitions)
  const policy = file('own.json', '{"levels":[[{"name":"NOTHING"}]]}')

  test('lets a policy name the filters of a module', async () => {
    expect((await spillway(['policy', 'check', policy])).code).toBe(1)
    const { code, stdout } = await spillway(['policy', 'try', policy, '--level', '1', '--use', module], {
      stdin: readings,
    })
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ digest: { COUNT: 5 }, from: 1, to: 5 })
  })

  test.each([
    ['missing.mjs', undefined, 'cannot be loaded'],
    ['empty.mjs', 'export const x = 1', 'expected an exported array'],
    ['taken.mjs', definitions.replace('NOTHING', 'DELTA'), 'called DELTA already'],
  ])('says what is wrong with %s', async (name, text, message) => {
    const path = text === undefined ? join(folder, name) : file(name, text)
    const { code, stderr } = await spillway(['policy', 'check', ward, '--use', path])
    expect(code).toBe(1)
    expect(stderr).toContain(message)
    expect(stderr).not.toContain('policy-source')
  })
})
