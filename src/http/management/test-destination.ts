/** A sample event, sent on the spot: what was sent, and what each endpoint made of it. */

import { randomUUID } from 'node:crypto'
import type { StoredDestination } from '../../db/stored-destination.ts'
import { messageRequest, type OutboundMessage } from '../../delivery/post-message.ts'
import { sampleMessage } from '../../delivery/sample-message.ts'
import type { Sender } from '../../delivery/send.ts'
import { AppError } from '../../errors.ts'
import type { DraftTestRequest, EndpointTest } from '../../schemas/endpoint-test.ts'
import type { MessageType } from '../../schemas/message.ts'
import type { Settings } from '../../settings/settings.ts'

/** Sends a sample event of `type` to every endpoint of the destination, whether it is switched on or not.
 *  @throws AppError not_found */
export function testDestination(
  settings: Settings,
  sender: Sender,
  destinationId: string,
  type: MessageType,
): Promise<EndpointTest> {
  const destination = findDestination(settings, destinationId)
  if (destination.unreadableReason !== undefined) throw new AppError('conflict', destination.unreadableReason)
  return testEndpoints(sender, { endpoints: destination.settings.webhooks, secrets: destination.secrets }, type)
}

/** Sends a sample event to endpoints that are not saved, or not saved as they are here.
 *  @throws AppError not_found when the draft names a destination that does not exist */
export function testDraft(settings: Settings, sender: Sender, draft: DraftTestRequest): Promise<EndpointTest> {
  const destination = draft.destinationId === undefined ? undefined : findDestination(settings, draft.destinationId)
  const { sharedSecret, webhooks } = draft.settings
  const endpoints = webhooks.map(({ id = null, url, headers }) => {
    const saved = destination?.settings.webhooks.find((webhook) => webhook.id === id)
    return { id, url, headers: headers ?? saved?.headers ?? {} }
  })
  const secrets =
    sharedSecret === undefined
      ? (destination?.secrets ?? [])
      : sharedSecret === null
        ? []
        : [{ secret: sharedSecret, until: null }]
  return testEndpoints(sender, { endpoints, secrets }, draft.type ?? 'track')
}

function findDestination(settings: Settings, id: string): StoredDestination {
  const destination = settings.destination(id)
  if (destination === undefined) throw new AppError('not_found', `no destination has the id ${id}`)
  return destination
}

interface Tested {
  endpoints: (OutboundMessage['endpoint'] & { id: string | null })[]
  secrets: OutboundMessage['secrets']
}

async function testEndpoints(sender: Sender, { endpoints, secrets }: Tested, type: MessageType): Promise<EndpointTest> {
  const at = new Date()
  const messageId = `test-${randomUUID()}`
  const message = sampleMessage(type, messageId, at)
  const results = endpoints.map(async (endpoint) => {
    const request = messageRequest({ messageId, message, endpoint, secrets, at })
    const outcome = await sender.send(request)
    return {
      endpointId: endpoint.id,
      url: endpoint.url,
      outcome: outcome.kind,
      durationMs: Math.round(outcome.durationMs),
      ...(outcome.status !== undefined && { status: outcome.status }),
      ...(outcome.kind !== 'delivered' && { error: outcome.reason }),
      ...(outcome.kind !== 'delivered' && outcome.excerpt !== undefined && { excerpt: outcome.excerpt }),
      request: { headers: request.headers, body: request.body },
    }
  })
  return { results: await Promise.all(results) }
}
