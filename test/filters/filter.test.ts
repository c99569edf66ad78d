import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileFilter } from '../../src/filters/filter.ts'
import { wildcard } from '../../src/filters/wildcard.ts'
import { FilterSchema, maxRuleDepth, maxRules, type Filter, type Rule } from '../../src/schemas/filter.ts'
import type { MessageBody } from '../../src/schemas/message.ts'

const order: MessageBody = {
  version: 1,
  type: 'track',
  messageId: 'm1',
  timestamp: '2026-03-01T12:00:00.000Z',
  userId: 'u1',
  event: 'Order Completed',
  properties: {
    total: 50,
    currency: 'EUR',
    express: false,
    coupon: null,
    'utm.source': 'mail',
    tags: ['new', 'gift', 7],
    products: [{ sku: 'A-1' }, { sku: 'B-2' }],
  },
  context: { ip: '203.0.113.7' },
}

/** A filter as the API takes it. */
const filterOf = (filter: unknown): Filter => FilterSchema.parse(filter)
const refusalOf = (filter: unknown, event: MessageBody = order) => compileFilter(filterOf(filter), 'dst_1')(event)
const byOf = (match: unknown): string | undefined => refusalOf({ match })?.by

describe('a comparison', () => {
  const holds: unknown[][] = [
    ['type', 'equals', 'track'],
    ['properties.total', 'equals', 50],
    ['properties.express', 'equals', false],
    ['properties.coupon', 'equals', null],
    ['properties.utm\\.source', 'equals', 'mail'],
    ['properties.products.1.sku', 'equals', 'B-2'],
    ['properties.currency', 'oneOf', ['USD', 'EUR']],
    ['properties.total', 'oneOf', [1, 50]],
    ['event', 'contains', 'r Comp'],
    ['properties.tags', 'contains', 'gift'],
    ['properties.tags', 'contains', 7],
    ['context.ip', 'startsWith', '203.'],
    ['event', 'glob', 'Order*'],
    ['event', 'glob', '*der*ted'],
    ['properties.total', 'greater', 49.9],
    ['properties.total', 'less', 51],
    ['timestamp', 'greater', '2026-02-28T00:00:00Z'],
    ['properties.express', 'exists'],
  ]
  it.each(holds)('%s %s %j holds', (path, op, value) => {
    expect(byOf({ path, op, value })).toBeUndefined()
    expect(byOf({ not: { path, op, value } })).toBe('match')
  })

  const fails: unknown[][] = [
    ['type', 'equals', 'page'],
    ['properties.total', 'equals', '50'],
    ['properties.coupon', 'equals', false],
    ['properties.utm.source', 'equals', 'mail'],
    ['properties.products.2.sku', 'equals', 'B-2'],
    ['properties.products.length', 'greater', 100],
    ['properties.total', 'oneOf', ['50']],
    ['properties.tags', 'contains', 'gif'],
    ['event', 'startsWith', 'order'],
    ['event', 'glob', 'Order'],
    ['event', 'glob', 'Order?Completed'],
    ['properties.total', 'greater', 50],
    ['properties.total', 'less', 50],
    ['properties.coupon', 'exists'],
    ['properties.coupon', 'greater', 1],
    ['properties.constructor', 'exists'],
    ['__proto__.constructor', 'exists'],
    ['nowhere.at.all', 'contains', 'x'],
    ['nowhere.at.all', 'glob', '*'],
  ]
  it.each(fails)('%s %s %j does not hold', (path, op, value) => {
    expect(byOf({ path, op, value })).toBe('match')
    expect(byOf({ not: { path, op, value } })).toBeUndefined()
  })

  const unsaid: unknown[][] = [
    ['properties.currency', 'greater', 5],
    ['properties.total', 'less', '100'],
    ['properties.total', 'contains', '5'],
    ['event', 'contains', 5],
    ['properties.total', 'startsWith', '5'],
    ['properties.products', 'glob', '*'],
  ]
  it.each(unsaid)('%s %s %j cannot be said, so that no event passes by it', (path, op, value) => {
    const rule = { path, op, value }
    expect(byOf(rule)).toBe('fault')
    expect(byOf({ not: rule })).toBe('fault')
    expect(byOf({ not: { not: rule } })).toBe('fault')
    const yes = { path: 'type', op: 'equals', value: 'track' }
    const no = { path: 'type', op: 'equals', value: 'page' }
    expect(byOf({ any: [rule, yes] })).toBeUndefined()
    expect(byOf({ any: [rule, no] })).toBe('fault')
    expect(byOf({ not: { all: [rule, no] } })).toBeUndefined()
    expect(byOf({ not: { all: [rule, yes] } })).toBe('fault')
  })
})

describe('a filter', () => {
  it('takes everything when it is empty', () => {
    expect(refusalOf({})).toBeUndefined()
  })

  it.each([
    [{ types: ['track', 'page'] }, undefined],
    [{ types: ['page'] }, 'types: page'],
    [{ events: ['Signed Up', 'Order *'] }, undefined],
    [{ events: ['Signed Up', 'Order'] }, 'events: Signed Up, Order'],
    [{ types: ['track'], events: ['Order*'], match: { path: 'userId', op: 'exists' } }, undefined],
    [
      {
        match: {
          all: [
            { path: 'userId', op: 'exists' },
            { path: 'properties.total', op: 'greater', value: 99 },
          ],
        },
      },
      'properties.total greater 99',
    ],
    [
      { match: { any: [{ path: 'groupId', op: 'exists' }, { not: { path: 'userId', op: 'exists' } }] } },
      'any of (groupId exists; not (userId exists))',
    ],
    [{ sample: 1 }, undefined],
    [{ sample: 0 }, 'sample: 0'],
  ])('%j: %s', (filter, words) => {
    expect(refusalOf(filter)?.words).toBe(words)
  })

  it('knows pages by their name, and takes no call without one where it names events', () => {
    const named = { events: ['Home'] }
    const at = { timestamp: order.timestamp, userId: 'u1' }
    expect(refusalOf(named, { ...at, type: 'page', name: 'Home' })).toBeUndefined()
    expect(refusalOf(named, { ...at, type: 'identify', traits: {} })?.by).toBe('events')
  })

  it('takes no event when it has a part that this version does not know', () => {
    const match = { path: 'type', op: 'resembles', value: 'track' } as unknown as Rule
    expect(compileFilter({ match }, 'dst_1')(order)?.by).toBe('fault')
    expect(compileFilter({ match: {} }, 'dst_1')(order)?.by).toBe('fault')
  })

  it('takes a share of the users: always the same, others at another destination, and more of a larger share', () => {
    const users = Array.from({ length: 4_000 }, (_, n) => `user-${n}`)
    const taken = (sample: number, destinationId: string): Set<string> => {
      const filter = compileFilter({ sample }, destinationId)
      return new Set(users.filter((userId) => filter({ ...order, userId }) === undefined))
    }
    const tenth = taken(0.1, 'dst_1')
    expect(tenth.size).toBeGreaterThan(300)
    expect(tenth.size).toBeLessThan(500)
    expect(taken(0.1, 'dst_1')).toEqual(tenth)
    expect(taken(0.1, 'dst_2')).not.toEqual(tenth)
    const third = taken(0.3, 'dst_1')
    expect([...tenth].filter((user) => !third.has(user))).toEqual([])
    const anonymous = { ...order, userId: undefined, anonymousId: 'user-1' } as unknown as MessageBody
    expect(refusalOf({ sample: 0.1 }, anonymous) === undefined).toBe(tenth.has('user-1'))
  })
})

describe('a filter that is refused', () => {
  const nested = (levels: number): Rule => (levels === 1 ? { path: 'a', op: 'exists' } : { not: nested(levels - 1) })
  const many = (count: number): Rule => ({ any: Array.from({ length: count - 1 }, () => nested(1)) })

  const refused: [filter: unknown, member: string][] = [
    [{ types: ['tracks'] }, 'types.0'],
    [{ types: [] }, 'types'],
    [{ events: [''] }, 'events.0'],
    [{ sample: 1.5 }, 'sample'],
    [{ share: 0.5 }, ''],
    [{ match: {} }, 'match'],
    [{ match: { path: 'a', all: [] } }, 'match.all'],
    [{ match: { path: 'a', op: 'is', value: 1 } }, 'match.op'],
    [{ match: { path: 'a', value: 1 } }, 'match.op'],
    [{ match: { not: { path: 'a', op: 'exists' }, op: 'exists' } }, 'match.op'],
    [{ match: { not: { path: 'a', op: 'exists' }, value: 1 } }, 'match.value'],
    [
      {
        match: {
          any: [
            { path: 'a', op: 'exists' },
            { path: 'a', op: 'exists', value: true },
          ],
        },
      },
      'match.any.1.value',
    ],
    [{ match: { path: 'a', op: 'equals' } }, 'match.value'],
    [{ match: { path: 'a', op: 'equals', value: {} } }, 'match.value'],
    [{ match: { path: 'a', op: 'oneOf', value: 'b' } }, 'match.value'],
    [{ match: { path: 'a', op: 'oneOf', value: [] } }, 'match.value'],
    [{ match: { path: 'a', op: 'glob', value: 5 } }, 'match.value'],
    [{ match: { path: 'a', op: 'less', value: true } }, 'match.value'],
    [{ match: { path: 'a', op: 'equals', value: 'x'.repeat(257) } }, 'match.value'],
    [{ match: nested(maxRuleDepth + 1) }, `match${'.not'.repeat(maxRuleDepth)}`],
    [{ match: many(maxRules + 1) }, `match.any.${maxRules - 1}`],
  ]
  it.each(refused.map(([filter, member]) => ({ filter, member })))('names the member $member', ({ filter, member }) => {
    expect(FilterSchema.safeParse(filter).error?.issues[0]?.path.join('.')).toBe(member)
  })

  it('is not one that has exactly as many and as deep rules as may be', () => {
    const filters = [{ match: nested(maxRuleDepth) }, { match: many(maxRules) }]
    expect(filters.map((filter) => FilterSchema.safeParse(filter).success)).toEqual([true, true])
  })
})

describe('a name with stars', () => {
  it('fits what the same regular expression fits', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 12 })
    const patterns = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*', '*'), maxLength: 8 })
    fc.assert(
      fc.property(patterns, letters, (pattern, text) => {
        const source = pattern.replaceAll('.', '\\.').replaceAll('*', '.*')
        expect(wildcard(pattern)(text)).toBe(new RegExp(`^${source}$`, 's').test(text))
      }),
      { numRuns: 2_000 },
    )
  })

  it('looks at a long text that nearly fits only as often as it has pieces', () => {
    const stars = wildcard(`${'*a'.repeat(127)}*b`)
    // A pattern that goes back at each star would not come to an end.
    expect(stars('a'.repeat(32_000))).toBe(false)
  })
})
