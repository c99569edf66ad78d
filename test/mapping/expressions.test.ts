/** Expressions of mappings: what they make of an event, what they may take, and that they come to the same each time. */

import { afterAll, describe, expect, it } from 'vitest'
import { problemOfExpression, unavailableFunctions } from '../../src/mapping/check-expression.ts'
import { createExpressions } from '../../src/mapping/expressions.ts'
import type { Mapped } from '../../src/mapping/mapping.ts'

const expressions = createExpressions()
afterAll(() => expressions.close())

const evaluate = (expression: string, event: object = {}, by = expressions): Promise<Mapped> =>
  by.evaluate(expression, JSON.stringify(event))
const mapped = (result: unknown): Mapped => ({ kind: 'mapped', body: JSON.stringify(result) })
const failed = (why: string): Mapped => ({
  kind: 'failed',
  reason: `The mapping could not be applied: expression: ${why}.`,
})

it('makes another event', async () => {
  const expression = `{ 'sum': $sum(properties.items.price), 'who': $uppercase(userId), 'all': [items.(x)] }`
  const event = { userId: 'ada', properties: { items: [{ price: 1.5 }, { price: 2 }] } }
  expect(await evaluate(expression, event)).toEqual(mapped({ sum: 3.5, who: 'ADA', all: [] }))
  expect(await evaluate('$ ~> |context|{"ip": "none"}|', { context: { ip: 'a' } })).toEqual(
    mapped({ context: { ip: 'none' } }),
  )
})

it('answers each of many with its own, in whatever order expressions take turns', async () => {
  const results = Array.from({ length: 200 }, (_, n) => evaluate(`{ "n": n + ${n % 3} }`, { n }))
  expect(await Promise.all(results)).toEqual(Array.from({ length: 200 }, (_, n) => mapped({ n: n + (n % 3) })))
})

it.each([
  ['userId', 'the result is no object'],
  ['[1]', 'the result is no object'],
  ['nothing', 'the result is no object'],
  [`{ 'x': $pad('', 70000, '-') }`, 'the result is longer than 65536 characters'],
])('refuses the result of %s', async (expression, why) => {
  expect(await evaluate(expression, { userId: 'u1' })).toEqual(failed(why))
})

it.each(['$number(userId)', `$error('no ' & userId)`, `$assert(false, userId)`, `userId + 1`, '{', '$unknown()'])(
  'names the fault of %s without a value of the event',
  async (expression) => {
    const result = await evaluate(expression, { userId: 'secret-user' })
    expect(result).toMatchObject({
      kind: 'failed',
      reason: expect.stringMatching(/expression: \w\d{4} at character \d/) as string,
    })
    expect(JSON.stringify(result)).not.toContain('secret-user')
  },
)

describe('what differs from one attempt to the next', () => {
  it.each(unavailableFunctions)('is refused before it is saved, and not there: $%s', async (name) => {
    expect(problemOfExpression(`{ 'a': [1, { 'b': $${name}() }] }`)).toBe(
      `must not use $${name}: it is not the same in every attempt`,
    )
    expect(problemOfExpression(`$map([1], $${name})`)).toContain(`must not use $${name}`)
    expect(await evaluate(`{ 'a': $${name}() }`)).toMatchObject({ kind: 'failed' })
  })

  it('cannot be reached by the time of day, a time zone or what objects inherit', async () => {
    expect(await evaluate(`{ 'at': $toMillis('12:00', '[H]:[m]') }`)).toEqual(mapped({ at: 12 * 3_600_000 }))
    expect(await evaluate(`{ 'at': $toMillis('2026-01-01T00:00:00') }`)).toEqual(mapped({ at: Date.UTC(2026, 0, 1) }))
    expect(await evaluate(`{ 'a': $.constructor, 'b': $lookup($, '__proto__') }`)).toEqual(mapped({}))
  })
})

describe('what it may take', () => {
  const endless = '( $loop := function($n) { $loop($n + 1) }; { "n": $loop(0) } )'

  it('ends one that does not end, while others go on', async () => {
    const before = evaluate(endless)
    const others = Array.from({ length: 50 }, (_, n) => evaluate('{ "n": n }', { n }))
    expect(await Promise.all(others)).toEqual(Array.from({ length: 50 }, (_, n) => mapped({ n })))
    expect(await before).toEqual(failed('it takes longer than 1000 ms'))
    expect(await evaluate('{ "n": 1 }')).toEqual(mapped({ n: 1 }))
  })

  it('ends a pattern that does not end', async () => {
    const event = { text: `${'a'.repeat(60)}!` }
    expect(await evaluate('{ "x": $match(text, /^(a+)+$/) }', event)).toEqual(failed('it takes longer than 1000 ms'))
  })

  it('fails the event at fault alone: those that were handed over with it are evaluated', async () => {
    const expression = 'n = 7 ? ( $loop := function($n) { $loop($n) }; { "n": $loop(0) } ) : { "n": n }'
    const results = await Promise.all(Array.from({ length: 40 }, (_, n) => evaluate(expression, { n })))
    expect(results.map((result, n) => (n === 7 ? result.kind : result))).toEqual(
      Array.from({ length: 40 }, (_, n) => (n === 7 ? 'failed' : mapped({ n }))),
    )
  })

  it('ends one that takes all memory', async () => {
    const patient = createExpressions({ timeMs: 60_000, memoryMb: 32 })
    try {
      const growing = '( $grow := function($l) { $grow($append($l, [1..100000])) }; { "n": $grow([]) } )'
      expect(await evaluate(growing, {}, patient)).toEqual(failed('it takes more than 32 MB of memory'))
      expect(await evaluate('{ "n": 1 }', {}, patient)).toEqual(mapped({ n: 1 }))
      const amongOthers = `n = 7 ? ${growing} : { "n": n }`
      const results = await Promise.all(Array.from({ length: 10 }, (_, n) => evaluate(amongOthers, { n }, patient)))
      expect(results).toEqual(
        Array.from({ length: 10 }, (_, n) => (n === 7 ? failed('it takes more than 32 MB of memory') : mapped({ n }))),
      )
    } finally {
      patient.close()
    }
  })
})

it.each(['{', '$f(', 'a b', `${'('.repeat(8_000)}1`])('says of %s what is wrong, before it is saved', (expression) => {
  expect(problemOfExpression(expression)).toMatch(/^must be JSONata: /)
})

it.each(['$', '{ "now": $count(items) }', '$sum(a.now)'])('takes %s', (expression) => {
  expect(problemOfExpression(expression)).toBeUndefined()
})
