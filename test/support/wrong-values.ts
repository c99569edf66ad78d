/** Values that a schema may refuse, each wrong in another way, at every member of it. */

import { z } from 'zod'

interface JsonSchema {
  $ref?: string
  $defs?: Record<string, JsonSchema>
  properties?: Record<string, JsonSchema>
  items?: JsonSchema
  maxItems?: number
  additionalProperties?: JsonSchema | boolean
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  allOf?: JsonSchema[]
  required?: string[]
  const?: unknown
  enum?: unknown[]
}

/** Of every type, too long, too small, too large and in no known format. */
const wrongOfAnyType: unknown[] = [
  undefined,
  null,
  true,
  -1,
  1.5,
  1e12,
  '',
  'no such value \0',
  'x'.repeat(70_000),
  [],
  [7],
  {},
  { 'no member': 1 },
]

/** Members within members are looked at so deep. */
const maxDepth = 7

export function wrongValues(schema: z.ZodType): unknown[] {
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema
  return [...within(json, json, 0)]
}

function* within(schema: JsonSchema, root: JsonSchema, depth: number): Generator<unknown> {
  yield* wrongOfAnyType
  if (depth === maxDepth) return
  for (const one of [
    ...(schema.anyOf ?? []),
    ...(schema.oneOf ?? []),
    ...(schema.allOf ?? []),
    ...referred(schema, root),
  ])
    yield* within(one, root, depth + 1)
  const { properties = {}, items, maxItems, additionalProperties } = schema
  for (const [name, member] of Object.entries(properties))
    for (const value of within(member, root, depth + 1)) yield { ...constants(properties), [name]: value }
  if (typeof additionalProperties === 'object')
    for (const value of within(additionalProperties, root, depth + 1)) yield { any: value }
  if (items !== undefined) for (const value of within(items, root, depth + 1)) yield [value]
  if (maxItems !== undefined && maxItems < 100_000) yield Array.from({ length: maxItems + 1 }, () => 'x')
}

const referred = ({ $ref }: JsonSchema, { $defs = {} }: JsonSchema): JsonSchema[] =>
  $ref === undefined ? [] : [$defs[$ref.replace('#/$defs/', '')] ?? {}]

/** Members that can have one value alone: they say which of several alternatives is meant. */
const constants = (properties: Record<string, JsonSchema>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(properties).flatMap(([name, { const: value }]) => (value === undefined ? [] : [[name, value]])),
  )
