/** Whom a sync told what, beside what the receivers got. */

import { expect, it } from 'vitest'
import type { Page } from '../../src/db/page.ts'
import type { Delivery } from '../../src/schemas/delivery.ts'
import type { SyncUser } from '../../src/schemas/audience.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'
import { createAudience, describeOnEachDatabase, ended, givenDestination, start, state, told, upload } from './setup.ts'

describeOnEachDatabase('the users of a sync on', (databaseKind) => {
  const given = givenDestination(databaseKind)

  const users = (audienceId: string, syncId: string, query: Record<string, string> = {}) =>
    given.node.api<Page<SyncUser>>(
      'GET',
      `/audiences/${audienceId}/syncs/${syncId}/users?${String(new URLSearchParams(query))}`,
    )

  it('are told with what was said of them and what became of it, at each destination', async () => {
    await using other = await startReceiver()
    const second = await given.node.connect([], [other.url])
    const audience = await createAudience(given.node, [given.destinationId, second.id], { maxRemovalShare: 1 })
    await ended(given.node, audience, await upload(given.node, audience, ['kept', 'leaves']))
    const rejects = ({ body }: { body: Buffer }): boolean => body.includes('"bad"')
    const fails = ({ body }: { body: Buffer }): boolean => body.includes('"later"')
    other.answer((request) => ({ status: rejects(request) ? 400 : fails(request) ? 503 : 200 }))
    const before = [given.receiver.requests.length, other.requests.length]
    const sync = await ended(given.node, audience, await upload(given.node, audience, ['bad', 'kept', 'later', 'new']))
    expect(sync).toMatchObject({ added: 3, removed: 1, usersKept: true })

    const { body } = await users(audience.id, sync.id)
    const seen = body.items.map(({ userId, destinationId, change, outcome }) =>
      [userId, destinationId === second.id ? 'second' : 'first', change, outcome].join(' '),
    )
    expect(seen).toEqual([
      'bad first added sent',
      'bad second added failed',
      'later first added sent',
      'later second added handed_on',
      'leaves first removed sent',
      'leaves second removed sent',
      'new first added sent',
      'new second added sent',
    ])
    expect(state(given.receiver.requests)).toEqual({ bad: true, kept: true, later: true, leaves: false, new: true })
    const toldBy = (requests: typeof other.requests, from = 0): string[] => [
      ...new Set(told(requests.slice(from)).map(({ userId }) => userId)),
    ]
    const named = (destinationId: string): string[] =>
      body.items.filter((user) => user.destinationId === destinationId).map(({ userId }) => userId)
    expect(toldBy(given.receiver.requests, before[0]).sort()).toEqual(named(given.destinationId))
    expect(toldBy(other.requests, before[1]).sort()).toEqual(named(second.id))

    const handedOn = body.items.find(({ outcome }) => outcome === 'handed_on')
    await until('its delivery is there', async () => {
      const path = `/deliveries/${encodeURIComponent(handedOn?.deliveryId ?? '')}`
      const { status, body: delivery } = await given.node.api<Delivery>('GET', path)
      return status === 200 && delivery.userId === 'later' && delivery.status === 'retrying'
    })

    // A page at a time, and narrowed.
    const paged: SyncUser[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: Page<SyncUser> = (await users(audience.id, sync.id, { limit: '3', ...(cursor && { cursor }) })).body
      expect(page.items.length).toBeLessThanOrEqual(3)
      paged.push(...page.items)
      cursor = page.nextCursor
    }
    expect(paged).toEqual(body.items)
    expect((await users(audience.id, sync.id, { search: 'le' })).body.items.map(({ userId }) => userId)).toEqual([
      'leaves',
      'leaves',
    ])
    expect((await users(audience.id, sync.id, { outcome: 'failed' })).body.items).toMatchObject([
      { userId: 'bad', destinationId: second.id },
    ])
    expect(await users(audience.id, sync.id, { cursor: 'no' })).toMatchObject({ status: 400, body: { path: 'cursor' } })
    expect(await users(audience.id, 'syn_none')).toMatchObject({ status: 404 })
  })

  it('have the values of a computed trait, and say what was told again', async () => {
    const trait = await createAudience(given.node, [given.destinationId], { name: 'Spent', kind: 'trait' })
    const rows = [
      { userId: 'u1', value: 1 },
      { userId: 'u2', value: 2 },
    ]
    await ended(given.node, trait, await upload(given.node, trait, rows))
    const raised = await upload(given.node, trait, [{ userId: 'u1', value: { total: 9 } }, rows[1] ?? {}])
    await ended(given.node, trait, raised)
    expect((await users(trait.id, raised)).body.items).toMatchObject([
      { userId: 'u1', change: 'changed', value: { total: 9 }, outcome: 'sent', deliveryId: null },
    ])
    const again = await start(given.node, trait, 'resync')
    await ended(given.node, trait, again)
    expect((await users(trait.id, again)).body.items).toMatchObject([
      { userId: 'u1', change: 'repeated', value: { total: 9 } },
      { userId: 'u2', change: 'repeated', value: 2 },
    ])
    expect(state(given.receiver.requests, 'spent')).toEqual({ u1: { total: 9 }, u2: 2 })
  })
})
