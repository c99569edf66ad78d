import { describe, expect, it } from 'vitest'
import { taskQueue } from '../../src/contracts/names.ts'
import type { DeliverEventInput } from '../../src/contracts/delivery.ts'
import { findPostgres } from '../support/postgres.ts'
import { startReceiver } from '../support/receiver.ts'
import { startSharedParts } from '../support/shared-parts.ts'

const missing = findPostgres() === undefined
if (missing) console.warn('No PostgreSQL binaries here: two nodes on one database are not tested.')

describe.skipIf(missing)('two nodes on one database and one Temporal', () => {
  it('deliver what the other accepted for a destination made a moment ago', { timeout: 120_000 }, async () => {
    await using parts = await startSharedParts()
    await using first = await parts.start()
    await using second = await parts.start()
    await using receiver = await startReceiver()
    const rounds = 20
    for (let round = 0; round < rounds; round++) {
      const source = await first.createSource()
      const { id, settings } = await first.connect([source], [receiver.url])
      const messageId = `round-${round}`
      const input: DeliverEventInput = {
        sourceId: source.id,
        messageId,
        message: { type: 'track', timestamp: '2026-01-01T00:00:00.000Z', userId: 'u1' },
        targets: [{ destinationId: id, endpointIds: settings.webhooks.map((one) => one.id), successPolicy: 'any' }],
        retry: { windowMs: 60_000, initialMs: 200, maxMs: 1_000 },
      }
      // Not started eagerly, so that either worker may take it, as when the node that accepted it is busy.
      const { workflow } = second.app.temporal.client
      const options = { workflowId: messageId, taskQueue, args: [input] }
      expect(await workflow.execute('deliverEvent', options)).toMatchObject({ outcome: 'delivered' })
    }
    expect(receiver.requests).toHaveLength(rounds)
  })
})
