/** Mappings by themselves: what becomes of an event, step by step, and what cannot be applied. */

import { readFileSync } from 'node:fs'
import { hash } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { createExpressions } from '../../src/mapping/expressions.ts'
import { compileMapping as compileWith, type EventMapping } from '../../src/mapping/mapping.ts'
import { MappingSchema, type Mapping } from '../../src/schemas/mapping.ts'
import type { MessageBody } from '../../src/schemas/message.ts'

const expressions = createExpressions()
afterAll(() => expressions.close())

const compileMapping = (mapping: Mapping): EventMapping => compileWith(mapping, expressions.evaluate)

const event = (members: Record<string, unknown>): MessageBody => ({ type: 'track', timestamp: 'now', ...members })

/** What is sent, without the members that every event has. */
async function sent(mapping: Mapping, members: Record<string, unknown>): Promise<unknown> {
  const mapped = await compileMapping(MappingSchema.parse(mapping))(event(members))
  if (mapped.kind === 'failed') return mapped.reason
  const { type: _, timestamp: __, ...rest } = JSON.parse(mapped.body) as Record<string, unknown>
  return rest
}

describe('the page about mappings', () => {
  const page = readFileSync(new URL('../../docs/mapping.md', import.meta.url), 'utf8')
  const blocks = (text: string): unknown[] =>
    [...text.matchAll(/```json\n([\s\S]*?)```/g)].map(([, json = '']) => JSON.parse(json) as unknown)
  const [intro = '', ...sections] = page.split(/^### /m)
  const about = blocks(intro).at(-1) as MessageBody

  it.each(sections.map((section) => [section.split('\n', 1)[0] ?? '', section]))(
    'shows what %s does',
    async (name, section) => {
      const [mapping, result] = blocks(section.split(/^## /m)[0] ?? '')
      expect(mapping).toHaveProperty(name.replaceAll('`', ''))
      const mapped = await compileMapping(MappingSchema.parse(mapping))(about)
      expect(mapped).toEqual({ kind: 'mapped', body: JSON.stringify(result) })
    },
  )

  it('has an example of each member', () => {
    expect(sections.map((section) => section.split('\n', 1)[0])).toEqual(
      Object.keys(MappingSchema.shape).map((name) => `\`${name}\``),
    )
  })
})

it.each<[string, Mapping, Record<string, unknown>, unknown]>([
  [
    'passes over what is not there',
    { drop: ['a.b.c'], hash: ['x'], rename: { y: 'z' } },
    { a: { b: 1 } },
    { a: { b: 1 } },
  ],
  [
    'keeps what leads to a path, and nothing of what has no such path',
    { keep: ['a.b', 'd.e'] },
    { a: { b: 1, c: 2 }, d: 'text' },
    { a: { b: 1 } },
  ],
  ['keeps a whole of which a part is named, too', { keep: ['a', 'a.b'] }, { a: { b: 1, c: 2 } }, { a: { b: 1, c: 2 } }],
  ['drops several entries of a list by where they stood', { drop: ['l.0', 'l.2'] }, { l: [1, 2, 3, 4] }, { l: [2, 4] }],
  [
    'reads a dot in a name',
    { drop: ['p.utm\\.source'] },
    { p: { 'utm.source': 1, utm: { source: 2 } } },
    { p: { utm: { source: 2 } } },
  ],
  [
    'hashes a number as it is written, and leaves null',
    { hash: ['a', 'b'] },
    { a: 5, b: null },
    { a: hash('sha256', '5'), b: null },
  ],
  ['lets two values change places', { rename: { a: 'b', b: 'a' } }, { a: 1, b: 2 }, { a: 2, b: 1 }],
  ['moves null', { rename: { a: 'b.c' } }, { a: null }, { b: { c: null } }],
  [
    'sets within a list, and in the place of null',
    { set: { 'l.1.x': true, 'p.q': 'r' } },
    { l: [{}, { y: 1 }], p: null },
    { l: [{}, { y: 1, x: true }], p: { q: 'r' } },
  ],
  [
    'takes the order of its members, whatever theirs is',
    { set: { c: 1 }, rename: { a: 'b' }, drop: ['b'] },
    { a: 1, b: 2 },
    { b: 1, c: 1 },
  ],
])('%s', async (_, mapping, members, expected) => {
  expect(await sent(mapping, members)).toEqual(expected)
})

it.each(['ada@example.com', ' ADA@Example.com\n', 'Ada@EXAMPLE.COM'])(
  'hashes the address %j as others write it',
  async (text) => {
    expect(await sent({ hash: ['email'] }, { email: text })).toEqual({ email: hash('sha256', 'ada@example.com') })
  },
)

it.each(['Ada', ' ada', 'mail to ada@example.com'])('hashes the text %j as it is', async (text) => {
  expect(await sent({ hash: ['name'] }, { name: text })).toEqual({ name: hash('sha256', text) })
})

it.each<[Mapping, Record<string, unknown>, string]>([
  [
    { hash: ['traits.email'] },
    { traits: { email: { secret: 1 } } },
    'hash of traits.email: the value is neither a text nor a number',
  ],
  [{ hash: ['a'] }, { a: true }, 'hash of a: the value is neither a text nor a number'],
  [{ set: { 'a.b': 1 } }, { a: 'secret' }, 'set of a.b: a value on the way there is no object'],
  [{ set: { 'l.2': 1 } }, { l: ['secret'] }, 'set of l.2: there is no such entry in the list'],
  [{ rename: { x: 'l.length' } }, { x: 9, l: [] }, 'rename of l.length: there is no such entry in the list'],
])('cannot apply %j where the event does not fit, and tells no value', async (mapping, members, why) => {
  expect(await sent(mapping, members)).toBe(`The mapping could not be applied: ${why}.`)
})

it('sends nothing where it does not know a member', async () => {
  const later = { encrypt: ['userId'] } as unknown as Mapping
  expect(await compileMapping(later)(event({}))).toEqual({
    kind: 'failed',
    reason: 'The mapping could not be applied: this version does not know its member encrypt.',
  })
})

it('hashes the user of a deletion as of events, and does nothing else to it', async () => {
  const mapping = compileMapping({
    keep: ['event'],
    hash: ['userId'],
    rename: { userId: 'id' },
    set: { userId: 'x' },
    expression: '{}',
  })
  const mapped = await mapping({ type: 'delete', userId: 'u1', timestamp: 'now' })
  expect(mapped).toEqual({
    kind: 'mapped',
    body: JSON.stringify({ type: 'delete', userId: hash('sha256', 'u1'), timestamp: 'now' }),
  })
})

it('reaches no prototype', async () => {
  const paths = ['__proto__.polluted', 'constructor.prototype.polluted', 'a.__proto__.polluted']
  for (const path of paths) await sent({ set: { [path]: true } }, { a: {} })
  const parsed = event(JSON.parse('{"__proto__":{"x":1},"a":{}}') as Record<string, unknown>)
  await compileMapping({ drop: ['a'], set: { '__proto__.y': 1 } })(parsed)
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  expect(await sent({ rename: { toString: 'a' } }, {})).toEqual({})
})

it('leaves the event as it was, whose parts others share, and always makes the same bytes', async () => {
  const name = fc.constantFrom('a', 'b', 'c', '0', '1')
  const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('.'))
  const paths = fc.uniqueArray(path, { minLength: 1, maxLength: 4 })
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof({ maxDepth: 3 }, fc.constantFrom('x', 1, null, true), tie('list'), tie('object')),
    list: fc.array(tie('tree'), { maxLength: 3 }),
    object: fc.dictionary(name, tie('tree'), { maxKeys: 4 }),
  }))
  const mapping = fc.record(
    {
      keep: paths,
      drop: paths,
      hash: paths,
      rename: fc.dictionary(path, path),
      set: fc.dictionary(path, fc.constant(1)),
    },
    { requiredKeys: [] },
  )
  await fc.assert(
    fc.asyncProperty(mapping, fc.dictionary(name, tree), async (of, members) => {
      const before = event(members)
      const text = JSON.stringify(before)
      const once = await compileMapping(of)(before)
      expect(JSON.stringify(before)).toBe(text)
      expect(await compileMapping(of)(JSON.parse(text) as MessageBody)).toEqual(once)
      if (once.kind === 'failed') expect(once.reason).toMatch(/^The mapping could not be applied: /)
    }),
  )
})
