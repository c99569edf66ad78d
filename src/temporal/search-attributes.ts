/** The custom search attributes that deliveries carry: registered at start, and their values. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { SearchAttributePair } from '@temporalio/common'
import proto from '@temporalio/proto'
import type { DeliverEventInput } from '../contracts/delivery.ts'
import { eventName, shownText } from '../contracts/event-name.ts'
import { moreDestinations, searchAttributes, type SearchAttributeName } from '../contracts/names.ts'
import { StartError } from '../errors.ts'
import type { ConnectedTemporal } from './connection.ts'
import { isInvalid, isOperatorRefused, refusalText } from './grpc-errors.ts'
import { keyword } from './keyword.ts'
import type { NamesInTemporal } from './names-in-temporal.ts'

const usableLimitMs = 30_000
const usablePauseMs = 100

/** Registers what is missing and waits until queries with it work. Several nodes may do it at once.
 *  @throws StartError when the namespace has no room for them; with the command to run when Temporal does not let this node make
 *  them; when `signal` aborts */
export async function ensureSearchAttributes(temporal: ConnectedTemporal, signal: AbortSignal): Promise<void> {
  await temporal.connection.withAbortSignal(signal, () => register(temporal, signal))
}

async function register(temporal: ConnectedTemporal, signal: AbortSignal): Promise<void> {
  const missing = await missingAttributes(temporal)
  if (missing.length > 0) await addAttributes(temporal, missing)
  // A new attribute is refused in queries and starts until the server's caches have it.
  const deadline = Date.now() + usableLimitMs
  for (;;) {
    try {
      await temporal.client.workflow.count(allNames.map(isUnset).join(' AND '))
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

const allNames = Object.keys(searchAttributes) as SearchAttributeName[]

const isUnset = (name: SearchAttributeName): string => `${name} IS NULL`

async function missingAttributes(temporal: ConnectedTemporal): Promise<SearchAttributeName[]> {
  const { connection, namespace } = temporal
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace })
    return allNames.filter((name) => !(name in customAttributes))
  } catch (error) {
    if (isOperatorRefused(error)) return refusedAttributes(temporal)
    throw new StartError(`Temporal's namespace "${namespace}" cannot be used: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

/** Those that no query may name, for a node that may not read the list. */
async function refusedAttributes({ client }: ConnectedTemporal): Promise<SearchAttributeName[]> {
  const missing: SearchAttributeName[] = []
  for (const name of allNames)
    try {
      await client.workflow.count(isUnset(name))
    } catch (error) {
      if (!isInvalid(error)) throw error
      missing.push(name)
    }
  return missing
}

async function addAttributes(
  { connection, namespace }: ConnectedTemporal,
  missing: SearchAttributeName[],
): Promise<void> {
  const types = proto.temporal.api.enums.v1.IndexedValueType
  const wanted = missing.map((name) => [name, types[`INDEXED_VALUE_TYPE_${searchAttributes[name]}`]] as const)
  try {
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes: Object.fromEntries(wanted) })
  } catch (error) {
    if (/already exist/i.test((error as Error).message)) return
    const refusal = refusalText(error as Error)
    throw new StartError(
      isOperatorRefused(error)
        ? `Temporal's namespace "${namespace}" lacks search attributes and does not let Postrider make them (${refusal}); ` +
            `run: ${createCommand(namespace, missing)}`
        : `Temporal refused the search attributes: ${refusal}`,
      { cause: error },
    )
  }
}

/** The names of types that the `temporal` command takes. */
const typeNames = { KEYWORD: 'Keyword', KEYWORD_LIST: 'KeywordList', DATETIME: 'Datetime' } as const

const createCommand = (namespace: string, names: SearchAttributeName[]): string =>
  [
    `temporal operator search-attribute create --namespace '${namespace}'`,
    ...names.map((name) => `--name ${name} --type ${typeNames[searchAttributes[name]]}`),
  ].join(' ')

/** What lists show of a delivery, in its memo: its id, name and ids as its caller gave them. */
export interface ShownNames {
  id: string
  messageId: string
  event?: string
  userId?: string
}

/** @returns what the memo of a delivery keeps for lists */
export function shownNames(id: string, { message, messageId }: DeliverEventInput): ShownNames {
  const event = eventName(message)
  const { userId } = message
  return {
    id,
    messageId: shownText(messageId),
    ...(event !== null && { event: shownText(event) }),
    ...(userId !== undefined && { userId: shownText(userId) }),
  }
}

/** Attributes of a delivery at its start.
 *  @param acceptedAt  of one that leaves its parcel, ISO 8601 */
export function deliveryAttributes(
  { sourceId, messageId, message, targets }: DeliverEventInput,
  names: NamesInTemporal,
  acceptedAt?: string,
): SearchAttributePair[] {
  const { userId } = message
  const event = eventName(message)
  return [
    keywordPair('PostriderSource', sourceId),
    ...destinationPairs(targets.map(({ destinationId }) => destinationId)),
    keywordPair('PostriderType', message.type),
    pair('PostriderMessageId', names.value('message', messageId)),
    ...(event === null ? [] : [pair('PostriderEvent', names.value('event', event))]),
    ...(userId === undefined ? [] : [pair('PostriderUserId', names.value('user', userId))]),
    ...(acceptedAt === undefined ? [] : [acceptedPair(acceptedAt)]),
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

const acceptedPair = (at: string): SearchAttributePair => ({
  key: { name: 'PostriderAcceptedAt', type: 'DATETIME' },
  value: new Date(at),
})

const keywordPair = (name: SearchAttributeName, text: string): SearchAttributePair => pair(name, keyword(text))

const pair = (name: SearchAttributeName, value: string): SearchAttributePair => ({
  key: { name, type: 'KEYWORD' },
  value,
})
