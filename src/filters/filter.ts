/** The filter of a destination, made ready once and asked for each event. */

import { hash } from 'node:crypto'
import type { Filter, Rule } from '../schemas/filter.ts'
import type { MessageBody } from '../schemas/message.ts'
import { compileRule, wordsOf } from './rule.ts'
import { wildcard } from './wildcard.ts'

/** Why an event is not taken. */
export interface Refusal {
  /** The member of the filter that it does not fit; `fault`: whether it fits cannot be said. */
  by: 'types' | 'events' | 'match' | 'sample' | 'fault'
  /** In words for people. */
  words: string
}

/** Says why a destination does not take an event; undefined when it does. */
export type EventFilter = (event: MessageBody) => Refusal | undefined

/** Makes a filter ready. One that this version cannot read refuses every event, since what it was to keep back is not known.
 *  @param destinationId  shares of users differ from one destination to another */
export function compileFilter(filter: Filter, destinationId: string): EventFilter {
  try {
    const parts = [
      ...(filter.types === undefined ? [] : [byType(filter.types)]),
      ...(filter.events === undefined ? [] : [byName(filter.events)]),
      ...(filter.match === undefined ? [] : rulesIn(filter.match).map(byRule)),
      ...(filter.sample === undefined ? [] : [bySample(filter.sample, destinationId)]),
    ]
    return (event) => {
      for (const part of parts) {
        const refusal = part(event)
        if (refusal !== undefined) return refusal
      }
      return undefined
    }
  } catch (error) {
    const refusal: Refusal = { by: 'fault', words: `cannot be read: ${(error as Error).message}` }
    return () => refusal
  }
}

function byType(types: NonNullable<Filter['types']>): EventFilter {
  const refusal: Refusal = { by: 'types', words: `types: ${types.join(', ')}` }
  return ({ type }) => (types.some((taken) => taken === type) ? undefined : refusal)
}

function byName(names: string[]): EventFilter {
  const refusal: Refusal = { by: 'events', words: wordsOfNames(names) }
  const tests = names.map(wildcard)
  return (event) => {
    const name = event['event'] ?? event['name']
    return typeof name === 'string' && tests.some((test) => test(name)) ? undefined : refusal
  }
}

/** Most names that are told of those that are taken. */
const toldNames = 5

const wordsOfNames = (names: string[]): string =>
  `events: ${names.slice(0, toldNames).join(', ')}${names.length > toldNames ? ' …' : ''}`

/** What must all hold is asked one by one, so that the rule which an event does not fulfil has a name. */
const rulesIn = (match: Rule): Rule[] => match.all ?? [match]

function byRule(rule: Rule): EventFilter {
  const test = compileRule(rule)
  const refusal: Refusal = { by: 'match', words: wordsOf(rule) }
  const fault: Refusal = { by: 'fault', words: `cannot be said: ${wordsOf(rule)}` }
  return (event) => {
    const held = test(event)
    return held === true ? undefined : held === false ? refusal : fault
  }
}

/** Bits of a hash that are compared with the share. */
const hexDigits = 8
const hashes = 2 ** 32

/** A user's hash is the same for every event and on every node; a larger share has the users of a smaller one, and more. */
function bySample(share: number, destinationId: string): EventFilter {
  const refusal: Refusal = { by: 'sample', words: `sample: ${share}` }
  return ({ userId, anonymousId }) => {
    const user = userId ?? (typeof anonymousId === 'string' ? anonymousId : '')
    const digest = hash('sha256', `${destinationId}/${user}`).slice(0, hexDigits)
    return Number.parseInt(digest, 16) / hashes < share ? undefined : refusal
  }
}
