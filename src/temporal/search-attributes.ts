/** The custom search attributes that deliveries carry: registered at start, and their values. */

import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SearchAttributePair } from '@temporalio/common'
import proto from '@temporalio/proto'
import type { DeliverEventInput } from '../contracts/delivery.ts'
import { eventName, shownText } from '../contracts/event-name.ts'
import { moreDestinations, searchAttributes, type SearchAttributeName } from '../contracts/names.ts'
import { StartError } from '../errors.ts'
import type { ConnectedTemporal } from './connection.ts'

/** Longest value that a keyword column of Temporal's SQL visibility takes. */
const maxValueLength = 255

const usableLimitMs = 30_000
const usablePauseMs = 100

/** Registers what is missing and waits until queries with it work. Several nodes may do it at once.
 *  @throws StartError when the namespace has no room for them, Temporal refuses, or `signal` aborts */
export async function ensureSearchAttributes(temporal: ConnectedTemporal, signal: AbortSignal): Promise<void> {
  await temporal.connection.withAbortSignal(signal, () => register(temporal, signal))
}

async function register({ connection, client, namespace }: ConnectedTemporal, signal: AbortSignal): Promise<void> {
  const { customAttributes } = await connection.operatorService
    .listSearchAttributes({ namespace })
    .catch((error: Error) => {
      throw new StartError(`Temporal's namespace "${namespace}" cannot be used: ${error.message}`, { cause: error })
    })
  const missing = Object.entries(searchAttributes).filter(([name]) => !(name in customAttributes))
  if (missing.length > 0) {
    const types = proto.temporal.api.enums.v1.IndexedValueType
    const wanted = missing.map(([name, type]) => [name, types[`INDEXED_VALUE_TYPE_${type}`]] as const)
    try {
      await connection.operatorService.addSearchAttributes({ namespace, searchAttributes: Object.fromEntries(wanted) })
    } catch (error) {
      if (!/already exist/i.test((error as Error).message))
        throw new StartError(`Temporal refused the search attributes: ${(error as Error).message}`, { cause: error })
    }
  }
  // A new attribute is refused in queries and starts until the server's caches have it.
  const query = Object.keys(searchAttributes)
    .map((name) => `${name} IS NULL`)
    .join(' AND ')
  const deadline = Date.now() + usableLimitMs
  for (;;) {
    try {
      await client.workflow.count(query)
      return
    } catch (error) {
      if (signal.aborted || Date.now() > deadline)
        throw new StartError(`Temporal's search attributes are not usable: ${(error as Error).message}`, {
          cause: error,
        })
      await sleep(usablePauseMs, undefined, { signal })
    }
  }
}

/** A value as it is stored and asked for. Temporal's SQL visibility finds no value with a quote or backslash, however it
 *  is escaped in the query, and databases refuse NUL and lone surrogates: such characters are percent-encoded or
 *  replaced. A value longer than Temporal takes becomes its hash. */
export function keyword(value: string): string {
  const text = value.toWellFormed().replace(unsafe, (character) => encoded(character))
  return text.length <= maxValueLength ? text : `${hashMark}${createHash('sha256').update(text).digest('hex')}`
}

/** How the hash of a value begins. */
const hashMark = 'sha256:'

/** What lists show of a name and of ids whose attributes have only their hashes; it has no member where an attribute has the text. */
export type ShownTexts = Partial<Record<'event' | 'userId' | 'messageId', string>>

/** @returns what the memo of a delivery keeps for lists */
export function textsForLists({ message, messageId }: DeliverEventInput): ShownTexts {
  const texts = { event: eventName(message), userId: message.userId ?? null, messageId }
  const isHashed = (text: string | null): text is string => text !== null && keyword(text).startsWith(hashMark)
  return Object.fromEntries(
    Object.entries(texts).flatMap(([member, text]) => (isHashed(text) ? [[member, shownText(text)]] : [])),
  )
}

/** What `keyword` made a value of, turned back; a hash stays one. */
export const fromKeyword = (text: string): string =>
  text.replace(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))

// eslint-disable-next-line no-control-regex -- control characters are what it looks for
const unsafe = /[\x00-\x1f\x7f%'"\\]/g

const encoded = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`

/** Attributes of a delivery at its start. */
export function deliveryAttributes({
  sourceId,
  messageId,
  message,
  targets,
}: DeliverEventInput): SearchAttributePair[] {
  const { userId } = message
  const name = eventName(message)
  return [
    keywordPair('PostriderSource', sourceId),
    ...destinationPairs(targets.map(({ destinationId }) => destinationId)),
    keywordPair('PostriderType', message.type),
    keywordPair('PostriderMessageId', messageId),
    ...(name === null ? [] : [keywordPair('PostriderEvent', name)]),
    ...(userId === undefined ? [] : [keywordPair('PostriderUserId', userId)]),
  ]
}

function destinationPairs([first, second, ...others]: string[]): SearchAttributePair[] {
  if (first === undefined) return []
  const one = keywordPair('PostriderDestination1', first)
  if (second === undefined) return [one]
  if (others.length === 0) return [one, keywordPair('PostriderDestination2', second)]
  return [
    one,
    keywordPair('PostriderDestination2', moreDestinations),
    { key: { name: 'PostriderDestinations', type: 'KEYWORD_LIST' }, value: [second, ...others] },
  ]
}

const keywordPair = (name: SearchAttributeName, value: string): SearchAttributePair => ({
  key: { name, type: 'KEYWORD' },
  value: keyword(value),
})
