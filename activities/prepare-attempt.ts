/** What an attempt sends, and where to: the settings and the user's wishes as they are now. */

import type { AttemptInput, AttemptOutcome } from '../src/contracts/delivery.ts'
import { namedUsers } from '../src/contracts/named-users.ts'
import { isSealedMessage, type MessageContent, type OpenMessage } from '../src/contracts/sealed-message.ts'
import { encodeBody } from '../src/delivery/body.ts'
import type { StoredDestination } from '../src/db/stored-destination.ts'
import type { Suppression } from '../src/deletions/suppression.ts'
import type { Mapper } from '../src/mapping/mapper.ts'

export interface PrepareDependencies {
  findDestination: (id: string) => StoredDestination | undefined
  /** Reads what other nodes changed in the settings. */
  catchUp: () => Promise<void>
  /** Applies the mapping that a delivery names. */
  mapper: Mapper
  /** Opens a message; answers undefined when its user was erased. @throws while the key cannot be read */
  openMessage: (sealed: string) => OpenMessage | undefined | Promise<OpenMessage | undefined>
  /** Users to whom nothing goes out any more. */
  suppression: Pick<Suppression, 'isSuppressed' | 'upToDate'>
}

/** The endpoint as it is now, and what it is to get. */
export interface PreparedAttempt extends Ready {
  messageId: string
  /** The same bytes in every attempt. */
  body: string
  /** Seals what is kept of the attempt as the event itself is sealed. */
  sealJson: OpenMessage['sealJson']
  /** Whether the user was suppressed since. */
  isCalledOff: () => boolean
}

interface Ready {
  kind: 'ready'
  destination: StoredDestination
  endpoint: StoredDestination['settings']['webhooks'][number]
}

/** An attempt that is not made, as its user was deleted. */
export const userDeleted: AttemptOutcome = { kind: 'discarded', reason: 'the user was deleted' }

/** @returns what is sent, or what comes of an attempt that is not made
 *  @throws as `openMessage` */
export async function prepareAttempt(
  dependencies: PrepareDependencies,
  input: AttemptInput,
): Promise<PreparedAttempt | AttemptOutcome> {
  const { suppression, mapper } = dependencies
  const found = await findEndpoint(dependencies, input)
  if (found.kind !== 'ready') return found
  const opened = await contentOf(dependencies, input)
  if (opened === undefined) return userDeleted
  const { content, sealJson } = opened
  // `upToDate` is awaited only where there is something to wait for.
  const look = suppression.upToDate()
  if (look !== undefined) await look
  const isCalledOff = (): boolean => isOfSuppressed(suppression, input.sourceId, content)
  if (isCalledOff()) return userDeleted
  // As `upToDate`: most have no mapping.
  const mapping = bodyOf(mapper, input, content, found.destination)
  const body = typeof mapping === 'string' ? mapping : await mapping
  if (typeof body !== 'string') return body
  return { ...found, messageId: content.messageId, body, sealJson, isCalledOff }
}

/** How long a destination has been paused in all, in milliseconds. */
export function pausedSoFarMs({ pausedTotalMs, pausedAt }: StoredDestination): number {
  return pausedTotalMs + (pausedAt === null ? 0 : Date.now() - pausedAt.getTime())
}

/** What is sent; undefined when its user was erased. */
function contentOf(
  { openMessage }: Pick<PrepareDependencies, 'openMessage'>,
  { messageId, message }: AttemptInput,
): OpenMessage | undefined | Promise<OpenMessage | undefined> {
  return isSealedMessage(message)
    ? openMessage(message.sealed)
    : { content: { messageId, message }, sealJson: (json) => json }
}

/** The bytes that the endpoint gets, the same in every attempt, or what comes of an attempt for which there are none. */
function bodyOf(
  mapper: Mapper,
  { destinationId, mappingId }: AttemptInput,
  { message }: MessageContent,
  destination: StoredDestination,
): string | Promise<string | AttemptOutcome> {
  if (mappingId === undefined) return encodeBody(message)
  return mapper.map({ destinationId, mappingId }, message).then(
    (mapped) => (mapped.kind === 'mapped' ? mapped.body : { kind: 'rejected', reason: mapped.reason }),
    (error: unknown) => ({
      kind: 'deferred',
      reason: `not attempted: its mapping cannot be read now (${error instanceof Error ? error.message : String(error)})`,
      pausedTotalMs: pausedSoFarMs(destination),
    }),
  )
}

const isOfSuppressed = (
  { isSuppressed }: Pick<Suppression, 'isSuppressed'>,
  sourceId: string | undefined,
  { message }: MessageContent,
): boolean => namedUsers(message).some((userId) => isSuppressed(sourceId, userId))

/** The endpoint as it is now, or why no attempt is made. Settings in memory may be a second old: another node may have
 *  accepted the event for a destination that this one does not know yet. */
async function findEndpoint(
  { findDestination, catchUp }: Pick<PrepareDependencies, 'findDestination' | 'catchUp'>,
  input: AttemptInput,
): Promise<Ready | AttemptOutcome> {
  const found = judge(findDestination(input.destinationId), input.endpointId)
  if (found.kind === 'ready') return found
  await catchUp()
  return judge(findDestination(input.destinationId), input.endpointId)
}

function judge(destination: StoredDestination | undefined, endpointId: string): Ready | AttemptOutcome {
  if (destination === undefined) return { kind: 'discarded', reason: 'the destination was deleted' }
  if (!destination.enabled) return { kind: 'discarded', reason: 'the destination was switched off' }
  if (destination.pausedAt !== null) return { kind: 'held' }
  const endpoint = destination.settings.webhooks.find(({ id }) => id === endpointId)
  if (endpoint === undefined) return { kind: 'rejected', reason: 'the endpoint was removed from its destination' }
  return { kind: 'ready', destination, endpoint }
}
