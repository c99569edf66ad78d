/** Events for a machine that no node reaches: it fetches them from one node while others make the attempts, and nodes are killed. */

import { describe, expect, it } from 'vitest'
import type { DeliveryDetail } from '../../src/schemas/delivery.ts'
import { openShell } from '../cli/command.ts'
import type { TestApp } from '../support/app.ts'
import { findPostgres } from '../support/postgres.ts'
import { startReceiver } from '../support/receiver.ts'
import { startSharedParts } from '../support/shared-parts.ts'
import { until } from '../support/wait.ts'

const missing = findPostgres() === undefined
if (missing) console.warn('No PostgreSQL binaries here: listening beside two nodes is not tested.')

interface Ready {
  destinationId: string
}

const untilDelivered = (node: Pick<TestApp, 'api'>, id: string): Promise<DeliveryDetail> =>
  until(
    `${id} is delivered`,
    async () => {
      const { status, body } = await node.api<DeliveryDetail>('GET', `/deliveries/${encodeURIComponent(id)}`)
      return status === 200 && body.status === 'delivered' && body
    },
    120_000,
  )

describe.skipIf(missing)('listen that fetches its events', () => {
  it('gets those of every node, and loses none with a node that is killed', { timeout: 300_000 }, async () => {
    await using parts = await startSharedParts()
    const fetchedFrom = await parts.startProcess()
    const doomed = await parts.startProcess()
    await using local = await startReceiver()
    await using shell = await openShell(fetchedFrom.url)
    const source = await fetchedFrom.createSource()
    await using listening = shell.start(['listen', source.id, '--fetch', '--forward-to', local.url, '--json'])
    const { destinationId } = JSON.parse(await listening.line('"destinationId"')) as Ready
    const send = async (node: Pick<TestApp, 'post'>, event: string): Promise<string> => {
      const { body } = await node.post('/track', source.writeKey, { userId: 'u1', event })
      return `event/${source.id}/${(body.accepted as string[] | undefined)?.[0]}`
    }
    const got = (event: string): number =>
      local.requests.filter(({ body }) => (JSON.parse(body.toString()) as { event: string }).event === event).length
    await untilDelivered(fetchedFrom, await send(fetchedFrom, 'here'))
    expect(got('here')).toBe(1)
    // A node learns of a new destination a moment after the one where it was made.
    await until('the other node delivers to it', async () => {
      await send(doomed, 'there')
      return got('there') > 0
    })

    // The attempt waits for its answer when its node goes.
    local.answer(({ body }) => (got('cut') === 1 && body.includes('"cut"') ? 'hang' : {}))
    const cut = await send(doomed, 'cut')
    await until('the request is forwarded', () => got('cut') === 1)
    await doomed.kill()
    await untilDelivered(fetchedFrom, cut)
    expect(got('cut')).toBeGreaterThan(1)

    // Another one has a destination of its own.
    await using beside = shell.start(['listen', source.id, '--fetch', '--remove', '--json'])
    expect((JSON.parse(await beside.line('"destinationId"')) as Ready).destinationId).not.toBe(destinationId)
    await beside.interrupt()

    // What comes while nobody listens is held.
    await listening.interrupt()
    const held = await send(fetchedFrom, 'held')
    await using again = shell.start(['listen', source.id, '--fetch', '--forward-to', local.url, '--json'])
    expect(JSON.parse(await again.line('"destinationId"'))).toMatchObject({ destinationId })
    await untilDelivered(fetchedFrom, held)
    expect(got('held')).toBe(1)
    await again.interrupt()
  })
})
