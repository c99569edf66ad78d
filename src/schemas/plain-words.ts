/** What is wrong with a value, in words for people: the schema library's own are for programmers. */

import { z } from 'zod'

type Issue = z.core.$ZodRawIssue

/** What a type is called. */
const typeNames: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
  date: 'a time',
}

const nounOf: Record<string, string> = { string: 'character', array: 'entry', set: 'entry', record: 'member' }

const plural = (count: number | bigint, noun: string): string =>
  `${count} ${Number(count) === 1 ? noun : noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`}`

const bound = (which: 'at least' | 'at most', amount: number | bigint, origin: string): string => {
  const noun = nounOf[origin]
  return noun === undefined ? `must be ${which} ${amount}` : `must have ${which} ${plural(amount, noun)}`
}

const oneOf = (values: readonly unknown[]): string =>
  values.length === 1 ? `must be ${String(values[0])}` : `must be one of ${values.map(String).join(', ')}`

/** Has words for every kind of issue: the library would fill a gap with its own. */
function describe(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is missing' : `must be ${typeNames[issue.expected] ?? 'of another type'}`
    case 'too_small':
      return Number(issue.minimum) === 1 && issue.origin === 'string'
        ? 'must not be empty'
        : bound('at least', issue.minimum, issue.origin)
    case 'too_big':
      return bound('at most', issue.maximum, issue.origin)
    case 'invalid_value':
      return oneOf(issue.values)
    case 'unrecognized_keys':
      return 'is not a known member: check its spelling, or leave it out'
    case 'invalid_format':
      return issue.format === 'datetime' ? 'must be a time such as 2026-01-31T12:00:00Z' : 'is not in the right format'
    case 'invalid_union':
      return !Array.isArray(issue.options) ? 'is not in the right format' : oneOf(issue.options)
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`
    case 'invalid_key':
      return 'has a member whose name is not valid'
    default:
      return 'is not valid'
  }
}

/** The member at fault, as in `settings.webhooks[0].url`; empty where it is the whole. */
export function memberOf(issue: z.core.$ZodIssue): string {
  const unknown = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
  return z.core.toDotPath([...issue.path, ...unknown])
}

/** Makes every schema of the process speak so, unless it has words of its own. */
export const speakPlainly = (): void => {
  z.config({ customError: describe })
}
