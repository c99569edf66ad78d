/** Rules over an event: what holds, what does not, and what cannot be said. */

import type { Rule, RuleOperator, Scalar } from '../schemas/filter.ts'
import { readPath } from './read-path.ts'
import { wildcard } from './wildcard.ts'

/** Whether a rule holds; undefined where that cannot be said, since the value is not one that its operator compares. `not` of what cannot be
 *  said cannot be said either, so that no event passes by it. */
export type Test = (event: object) => boolean | undefined

/** Makes a rule ready to be asked for each event. @throws when it is none that this version knows */
export function compileRule(rule: Rule): Test {
  const { all, any, not, path, op } = rule
  if (all !== undefined) return combined(all.map(compileRule), false)
  if (any !== undefined) return combined(any.map(compileRule), true)
  if (not !== undefined) return negated(compileRule(not))
  if (path === undefined || op === undefined) throw new Error('a rule has no path or no operator')
  const read = readPath(path)
  const compare = comparisons[op](rule.value)
  return (event) => compare(read(event))
}

/** @param decisive  what decides for all of them, whichever of them it is; where none does, what cannot be said leaves all unsaid */
const combined =
  (tests: Test[], decisive: boolean): Test =>
  (event) => {
    let result: boolean | undefined = !decisive
    for (const test of tests) {
      const held = test(event)
      if (held === decisive) return decisive
      if (held === undefined) result = undefined
    }
    return result
  }

const negated =
  (test: Test): Test =>
  (event) => {
    const held = test(event)
    return held === undefined ? undefined : !held
  }

/** @param actual  undefined where the event has no such value */
type Comparison = (actual: unknown) => boolean | undefined

const isAbsent = (actual: unknown): boolean => actual === undefined || actual === null

/** Holds for no absent value, and says nothing of one that is no text. */
const ofText =
  (compare: (text: string) => boolean): Comparison =>
  (actual) =>
    typeof actual === 'string' ? compare(actual) : isAbsent(actual) ? false : undefined

/** Numbers are compared with numbers, and texts with texts. */
const inOrder =
  (value: Rule['value'], holds: (actual: number | string, limit: number | string) => boolean): Comparison =>
  (actual) => {
    if (isAbsent(actual)) return false
    const isComparable = (typeof actual === 'number' || typeof actual === 'string') && typeof actual === typeof value
    return isComparable ? holds(actual, value as number | string) : undefined
  }

const comparisons: Record<RuleOperator, (value: Rule['value']) => Comparison> = {
  equals: (value) => (actual) => actual === value,
  oneOf: (value) => {
    const values = new Set<unknown>(value as Scalar[])
    return (actual) => values.has(actual)
  },
  contains: (value) => (actual) => {
    if (Array.isArray(actual)) return actual.includes(value)
    if (typeof actual === 'string') return typeof value === 'string' ? actual.includes(value) : undefined
    return isAbsent(actual) ? false : undefined
  },
  startsWith: (value) => ofText((text) => text.startsWith(value as string)),
  glob: (value) => ofText(wildcard(value as string)),
  greater: (value) => inOrder(value, (actual, limit) => actual > limit),
  less: (value) => inOrder(value, (actual, limit) => actual < limit),
  exists: () => (actual) => !isAbsent(actual),
}

/** Longest words for a rule, in characters; of longer ones their beginning. */
const maxWords = 200

/** A rule in words for people, such as `properties.total greater 50`. */
export const wordsOf = (rule: Rule): string => {
  const words = wholeWordsOf(rule)
  return words.length > maxWords ? `${words.slice(0, maxWords)}…` : words
}

function wholeWordsOf({ all, any, not, path, op, value }: Rule): string {
  if (all !== undefined) return `all of (${all.map(wholeWordsOf).join('; ')})`
  if (any !== undefined) return `any of (${any.map(wholeWordsOf).join('; ')})`
  if (not !== undefined) return `not (${wholeWordsOf(not)})`
  return [path, op, ...(value === undefined ? [] : [JSON.stringify(value)])].join(' ')
}
