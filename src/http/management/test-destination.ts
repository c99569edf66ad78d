/** A sample event, sent on the spot: what was sent, and what each endpoint made of it. */

import { randomUUID } from 'node:crypto'
import type { StoredDestination } from '../../db/stored-destination.ts'
import { encodeBody } from '../../delivery/body.ts'
import { messageRequest, type OutboundMessage } from '../../delivery/post-message.ts'
import { sampleMessage } from '../../delivery/sample-message.ts'
import type { Sender } from '../../delivery/send.ts'
import { AppError } from '../../errors.ts'
import type { Mapper } from '../../mapping/mapper.ts'
import { differingOptions } from '../../schemas/endpoint-options.ts'
import type { DraftTestRequest, EndpointTest } from '../../schemas/endpoint-test.ts'
import type { MessageBody, MessageType } from '../../schemas/message.ts'
import type { Settings } from '../../settings/settings.ts'

export interface TestDependencies {
  settings: Settings
  sender: Sender
  mapper: Mapper
}

/** Sends a sample event of `type` to every endpoint of the destination, whether it is switched on or not.
 *  @throws AppError not_found; conflict when its secrets cannot be read, or its mapping cannot be applied to the sample */
export async function testDestination(
  dependencies: TestDependencies,
  destinationId: string,
  type: MessageType,
): Promise<EndpointTest> {
  const destination = findDestination(dependencies.settings, destinationId)
  if (destination.unreadableReason !== undefined) throw new AppError('conflict', destination.unreadableReason)
  const { secrets, settings } = destination
  return testEndpoints(dependencies, { destination, endpoints: settings.webhooks, secrets }, type)
}

/** Sends a sample event to endpoints that are not saved, or not saved as they are here.
 *  @throws AppError not_found when the draft names a destination that does not exist; conflict as above */
export async function testDraft(dependencies: TestDependencies, draft: DraftTestRequest): Promise<EndpointTest> {
  const { settings } = dependencies
  const destination = draft.destinationId === undefined ? undefined : findDestination(settings, draft.destinationId)
  const { sharedSecret, webhooks } = draft.settings
  const endpoints = webhooks.map(({ id = null, headers, ...draft }) => {
    const saved = destination?.settings.webhooks.find((webhook) => webhook.id === id)
    return { ...differingOptions(saved ?? {}), ...draft, id, headers: headers ?? saved?.headers ?? {} }
  })
  const secrets =
    sharedSecret === undefined
      ? (destination?.secrets ?? [])
      : sharedSecret === null
        ? []
        : [{ secret: sharedSecret, until: null }]
  return testEndpoints(dependencies, { destination, endpoints, secrets }, draft.type ?? 'track')
}

function findDestination(settings: Settings, id: string): StoredDestination {
  const destination = settings.destination(id)
  if (destination === undefined) throw new AppError('not_found', `no destination has the id ${id}`)
  return destination
}

interface Tested {
  /** Whose mapping is applied; undefined for endpoints of no destination. */
  destination: StoredDestination | undefined
  endpoints: (OutboundMessage['endpoint'] & { id: string | null })[]
  secrets: OutboundMessage['secrets']
}

async function testEndpoints(
  { sender, mapper }: TestDependencies,
  { destination, endpoints, secrets }: Tested,
  type: MessageType,
): Promise<EndpointTest> {
  const at = new Date()
  const messageId = `test-${randomUUID()}`
  const body = await bodyFor(mapper, destination, sampleMessage(type, messageId, at))
  const results = endpoints.map(async (endpoint) => {
    const request = messageRequest({ messageId, body, endpoint, secrets, at })
    const outcome = await sender.send(request)
    return {
      endpointId: endpoint.id,
      url: endpoint.url,
      outcome: outcome.kind,
      durationMs: Math.round(outcome.durationMs),
      ...(outcome.status !== undefined && { status: outcome.status }),
      ...(outcome.kind !== 'delivered' && { error: outcome.reason }),
      ...(outcome.kind !== 'delivered' && outcome.excerpt !== undefined && { excerpt: outcome.excerpt }),
      request: { ...(endpoint.method && { method: endpoint.method }), headers: request.headers, body: request.body },
    }
  })
  return { results: await Promise.all(results) }
}

async function bodyFor(
  mapper: Mapper,
  destination: StoredDestination | undefined,
  message: MessageBody,
): Promise<string> {
  if (destination === undefined || destination.mappingId === null) return encodeBody(message)
  const { id: destinationId, mappingId } = destination
  const mapped = await mapper.map({ destinationId, mappingId }, message)
  if (mapped.kind === 'failed') throw new AppError('conflict', mapped.reason)
  return mapped.body
}
