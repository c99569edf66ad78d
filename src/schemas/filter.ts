/** Filters of destinations: which of the events of its sources a destination takes. */

import { z } from 'zod'
import { EventTypeSchema, eventTypes } from './message.ts'

/** Deepest nesting of rules: a comparison alone is 1. */
export const maxRuleDepth = 8
/** Most rules of a filter, those that hold other rules included. */
export const maxRules = 100
/** Longest path, in characters. */
export const maxPathLength = 256
/** Longest text that is compared with, in characters. */
const maxTextLength = 256
/** Most names of events, or values of `oneOf`. */
const maxAlternatives = 100

/** What a comparison does with the value at its path. */
export const ruleOperators = ['equals', 'oneOf', 'contains', 'startsWith', 'glob', 'greater', 'less', 'exists'] as const
/** One of `ruleOperators`. */
export type RuleOperator = (typeof ruleOperators)[number]

const ScalarSchema = z.union([z.string().max(maxTextLength), z.number(), z.boolean(), z.null()])
/** One value of an event that is neither object nor list. */
export type Scalar = z.infer<typeof ScalarSchema>

/** A comparison (`path`, `op`, `value`), or rules that are put together (`all`, `any`, `not`): exactly one of these. */
export const RuleSchema = z.strictObject({
  get all(): z.ZodOptional<z.ZodArray<typeof RuleSchema>> {
    return z.array(RuleSchema).min(1).optional().describe('Rules that must all hold')
  },
  get any(): z.ZodOptional<z.ZodArray<typeof RuleSchema>> {
    return z.array(RuleSchema).min(1).optional().describe('Rules of which at least one must hold')
  },
  get not(): z.ZodOptional<typeof RuleSchema> {
    return RuleSchema.optional().describe('A rule that must not hold')
  },
  path: z
    .string()
    .min(1)
    .max(maxPathLength)
    .optional()
    .describe('Where the value stands, as in `properties.products.0.sku`; a dot in a name is written `\\.`'),
  op: z.enum(ruleOperators).optional().describe('How the value at the path is compared'),
  value: z
    .union([ScalarSchema, z.array(ScalarSchema).min(1).max(maxAlternatives)], {
      error: `must be a text of at most ${maxTextLength} characters, a number, true, false, null, or 1 to ${maxAlternatives} of these in an array`,
    })
    .optional()
    .describe('What it is compared with: an array for `oneOf`, nothing for `exists`'),
})
export type Rule = z.infer<typeof RuleSchema>

/** Which events a destination takes: those that fit all members that are there. */
export const FilterSchema = z
  .strictObject({
    types: z.array(EventTypeSchema).min(1).max(eventTypes.length).optional().describe('Types of calls that are taken'),
    events: z
      .array(z.string().min(1).max(maxTextLength))
      .min(1)
      .max(maxAlternatives)
      .optional()
      .describe(
        'Names that are taken, of track calls, pages and screens, at most 100; `*` stands for any characters. Calls without a name are not taken',
      ),
    match: RuleSchema.optional().describe('Rule that the event must fulfil, as endpoints receive it'),
    sample: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .describe('Share of the users whose events are taken, 0 to 1: of a user all or none, always the same users'),
  })
  .superRefine((filter, context) => {
    if (filter.match !== undefined) checkRules(filter.match, context)
  })
export type Filter = z.infer<typeof FilterSchema>

interface Issues {
  /** Notes one thing that is wrong. */
  addIssue(issue: { code: 'custom'; path: PropertyKey[]; message: string }): void
}

/** Holds a rule and those inside it against what their schema does not say: bounds of the whole, and which members go together. */
function checkRules(match: Rule, issues: Issues): void {
  let count = 0
  const check = (rule: Rule, path: PropertyKey[], depth: number): void => {
    count += 1
    const refuse = (message: string, ...member: PropertyKey[]): void =>
      issues.addIssue({ code: 'custom', path: [...path, ...member], message })
    if (depth > maxRuleDepth) return refuse(`must not be nested deeper than ${maxRuleDepth} rules`)
    if (count === maxRules + 1) return refuse(`is one too many: a filter has at most ${maxRules} rules`)
    const problem = faultOf(rule)
    if (problem !== undefined) return refuse(problem.message, ...problem.member)
    rule.all?.forEach((one, index) => check(one, [...path, 'all', index], depth + 1))
    rule.any?.forEach((one, index) => check(one, [...path, 'any', index], depth + 1))
    if (rule.not !== undefined) check(rule.not, [...path, 'not'], depth + 1)
  }
  check(match, ['match'], 1)
}

interface Fault {
  /** The member of the rule; empty for the rule itself. */
  member: string[]
  /** What is wrong, in words that follow its name. */
  message: string
}

function faultOf({ all, any, not, path, op, value }: Rule): Fault | undefined {
  const kinds = [all, any, not, path].filter((member) => member !== undefined).length
  if (kinds !== 1) return { member: [], message: 'must have exactly one of all, any, not and path' }
  if (path === undefined)
    return op === undefined && value === undefined
      ? undefined
      : { member: [op === undefined ? 'value' : 'op'], message: 'goes with a path alone' }
  if (op === undefined) return { member: ['op'], message: `is missing: one of ${ruleOperators.join(', ')}` }
  const expected = expectedValues[op]
  return expected.fits(value) ? undefined : { member: ['value'], message: expected.message }
}

interface ExpectedValue {
  /** Whether a value is one. */
  fits: (value: Rule['value']) => boolean
  /** What it must be, in words that follow its name. */
  message: string
}

const isText = (value: Rule['value']): boolean => typeof value === 'string'
const isScalar = (value: Rule['value']): boolean => value !== undefined && !Array.isArray(value)
const text: ExpectedValue = { fits: isText, message: 'must be a text' }
const order: ExpectedValue = {
  fits: (value: Rule['value']): boolean => isText(value) || typeof value === 'number',
  message: 'must be a number, or a text such as a time in ISO 8601',
}

/** What the value of a comparison must be, by its operator. */
const expectedValues: Record<RuleOperator, ExpectedValue> = {
  equals: { fits: isScalar, message: 'must be a text, a number, true, false or null' },
  oneOf: { fits: Array.isArray, message: 'must be an array of texts, numbers, true, false or null' },
  contains: { fits: isScalar, message: 'must be a text, a number, true, false or null' },
  startsWith: text,
  glob: text,
  greater: order,
  less: order,
  exists: {
    fits: (value) => value === undefined,
    message: 'must be left out: whether there is a value is all it asks',
  },
}
