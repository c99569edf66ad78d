/** A sample event, sent on the spot: what was sent, and what each endpoint made of it. */

import { randomUUID } from 'node:crypto'
import { messageRequest, type OutboundMessage } from '../../delivery/post-message.ts'
import { sampleMessage } from '../../delivery/sample-message.ts'
import type { Sender } from '../../delivery/send.ts'
import { AppError } from '../../errors.ts'
import type { EndpointTest } from '../../schemas/endpoint-test.ts'
import type { MessageType } from '../../schemas/message.ts'
import type { Settings } from '../../settings/settings.ts'

/** Sends a sample event of `type` to every endpoint of the destination, whether it is switched on or not.
 *  @throws AppError not_found */
export async function testDestination(
  settings: Settings,
  sender: Sender,
  destinationId: string,
  type: MessageType,
): Promise<EndpointTest> {
  const destination = settings.destination(destinationId)
  if (destination === undefined) throw new AppError('not_found', `no destination has the id ${destinationId}`)
  const at = new Date()
  const messageId = `test-${randomUUID()}`
  const message = sampleMessage(type, messageId, at)
  const results = destination.settings.webhooks.map(async (endpoint) => {
    const outbound: OutboundMessage = { messageId, message, endpoint, secrets: destination.secrets, at }
    const request = messageRequest(outbound)
    const outcome = await sender.send(request)
    return {
      endpointId: endpoint.id,
      url: endpoint.url,
      outcome: outcome.kind,
      durationMs: Math.round(outcome.durationMs),
      ...(outcome.status !== undefined && { status: outcome.status }),
      ...(outcome.kind !== 'delivered' && { error: outcome.reason }),
      ...(outcome.kind !== 'delivered' && outcome.excerpt !== undefined && { excerpt: outcome.excerpt }),
      request: { headers: request.headers, body: request.body.toString('utf8') },
    }
  })
  return { results: await Promise.all(results) }
}
