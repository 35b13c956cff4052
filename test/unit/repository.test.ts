// The door for definitions: what it lets in, and what it refuses before a policy can name it.
import { describe, expect, it } from 'vitest'
import { compilePolicy } from '../../policies/compile.ts'
import type { FilterDefinition, ParameterType } from '../../policies/filter.ts'
import { Repository } from '../../policies/repository.ts'

function withParameter(name: string, type: string): FilterDefinition {
  const parameters = { [name]: { type: type as ParameterType } }
  return { name: 'OWN', summary: '', attribute: false, parameters, keep: () => () => 0 }
}

describe('a parameter', () => {
  it.each(['name', 'attribute', 'mode', '', '1st', 'a b', '_x', 'x'.repeat(65)])(
    'cannot be called %j',
    (name) => {
      expect(() => new Repository().filter(withParameter(name, 'text'))).toThrow(
        expect.objectContaining({
          code: 'NAME_INVALID',
          message: expect.stringContaining('OWN: a parameter cannot be called'),
        }),
      )
    },
  )

  it.each(['string', 'toString', 'Number', ''])('cannot have the type %j', (type) => {
    expect(() => new Repository().filter(withParameter('s', type))).toThrow(
      expect.objectContaining({
        code: 'NAME_INVALID',
        message: `filter OWN: s has the type ${JSON.stringify(type)}, expected operand, operands, number, count, fraction, duration, text`,
      }),
    )
  })

  it.each([
    ['operand', 'x'],
    ['operands', ['x', 1]],
    ['number', -1.5],
    ['count', 1],
    ['fraction', 0.5],
    ['duration', '1s'],
    ['text', 'x'],
  ])('of type %s is read', (type, value) => {
    const repository = new Repository().filter(withParameter('Own-1_', type))
    expect(compilePolicy({ levels: [[{ name: 'OWN', 'Own-1_': value }]] }, { repository }).top).toBe(1)
  })
})

it('refuses a digester whose name is taken or none', () => {
  const repository = new Repository()
  const { digesters } = repository
  const mean = digesters.get('MEAN')!
  expect(() => repository.digester(mean)).toThrow(expect.objectContaining({ code: 'NAME_TAKEN' }))
  expect(() => repository.digester({ ...mean, name: 'MY MEAN' })).toThrow(
    expect.objectContaining({ code: 'NAME_INVALID' }),
  )
  expect([...new Repository().digesters.keys()]).toEqual([...digesters.keys()])
})
