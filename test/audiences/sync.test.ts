import { expect, it } from 'vitest'
import type { Page } from '../../src/db/page.ts'
import type { Audience, AudienceMember, Sync } from '../../src/schemas/audience.ts'
import type { DestinationView } from '../../src/schemas/destination.ts'
import type { Overview } from '../../src/schemas/overview.ts'
import { startReceiver } from '../support/receiver.ts'
import {
  createAudience,
  describeOnEachDatabase,
  ended,
  givenAudience,
  start,
  state,
  told,
  toldOnce,
  until,
  upload,
  uploadAndSync,
  users,
} from './setup.ts'

describeOnEachDatabase('audiences on', (databaseKind) => {
  const given = givenAudience(databaseKind)

  it('lists its members by user id, and finds them by the beginning of it', async () => {
    const list = async (query: string) => {
      const { body } = await given.node.api<Page<AudienceMember>>(
        'GET',
        `/audiences/${given.audience.id}/members?${query}`,
      )
      return body
    }
    expect(await list('')).toEqual({ items: [], nextCursor: null })
    await uploadAndSync(
      given.node,
      given.audience,
      ['a%', 'a1', 'b_1', 'b2', 'Z'].map((userId) => ({ userId, traits: { plan: 'pro' } })),
    )

    const first = await list('limit=3')
    expect(first.items.map(({ userId }) => userId)).toEqual(['Z', 'a%', 'a1'])
    const second = await list(`limit=3&cursor=${first.nextCursor}`)
    expect(second.items.map(({ userId }) => userId)).toEqual(['b2', 'b_1'])
    expect(second.nextCursor).toBeNull()
    expect(second.items[1]).toEqual({
      userId: 'b_1',
      value: null,
      traits: { plan: 'pro' },
      acknowledgedBy: [given.destinationId],
      handedOn: [],
    })
    for (const [search, found] of Object.entries({ 'a%': ['a%'], b_: ['b_1'], z: [], Z: ['Z'] }))
      expect((await list(`search=${encodeURIComponent(search)}`)).items.map(({ userId }) => userId)).toEqual(found)

    expect(await given.node.api('GET', `/audiences/${given.audience.id}/members?search=%00`)).toMatchObject({
      status: 400,
    })
    expect(await given.node.api('GET', `/audiences/${given.audience.id}/members?cursor=AA`)).toMatchObject({
      status: 400,
    })
    expect(await given.node.api('GET', '/audiences/none/members')).toMatchObject({ status: 404 })
  })

  it('shows which members a destination does not know', async () => {
    given.receiver.answer({ status: 404 })
    await uploadAndSync(given.node, given.audience, ['u1'])
    const { body } = await given.node.api<Page<AudienceMember>>('GET', `/audiences/${given.audience.id}/members`)
    expect(body.items).toMatchObject([{ userId: 'u1', acknowledgedBy: [], handedOn: [] }])
  })

  it('tells every member at the first sync, later only those who changed, and nothing when none did', async () => {
    const first = await uploadAndSync(given.node, given.audience, [
      { userId: 'u1', traits: { plan: 'pro' } },
      'u2',
      'u3',
    ])
    expect(first).toMatchObject({
      status: 'completed',
      added: 3,
      removed: 0,
      unchanged: 0,
      sent: 3,
      failed: 0,
      rowsRead: 3,
    })
    expect(told(given.receiver.requests).find(({ userId }) => userId === 'u1')).toEqual({
      version: 1,
      type: 'identify',
      messageId: `${given.audience.id}:${first.id}:u1`,
      timestamp: first.startedAt,
      userId: 'u1',
      traits: { plan: 'pro', vip_customers: true },
      context: {
        personas: {
          computation_class: 'audience',
          computation_key: 'vip_customers',
          computation_id: given.audience.id,
        },
      },
    })
    expect(given.receiver.requests[0]?.headers['x-signature']).toMatch(/^[0-9a-f]{40}$/)

    const second = await uploadAndSync(given.node, given.audience, ['u2', 'u3', 'u4'])
    expect(second).toMatchObject({ status: 'completed', added: 1, removed: 1, unchanged: 2, sent: 2 })
    expect(state(given.receiver.requests.slice(3))).toEqual({ u1: false, u4: true })

    const third = await uploadAndSync(given.node, given.audience, ['u4', 'u3', 'u2'])
    expect(third).toMatchObject({ status: 'completed', added: 0, removed: 0, unchanged: 3, sent: 0 })
    // A fourth sync that has something to tell proves that the third sent nothing.
    await uploadAndSync(given.node, given.audience, ['u2', 'u3', 'u4', 'u5'])
    expect(toldOnce(given.receiver.requests)).toHaveLength(6)
  })

  it('takes changes, and merges those that wait', async () => {
    await uploadAndSync(given.node, given.audience, ['u1', 'u2'])
    const sync = await ended(
      given.node,
      given.audience,
      await start(given.node, given.audience, 'members', { add: ['u3'], remove: ['u1', 'u9'] }),
    )
    expect(sync).toMatchObject({ status: 'completed', added: 1, removed: 1, unchanged: 1 })
    expect(state(given.receiver.requests)).toEqual({ u1: false, u2: true, u3: true })
    expect((await given.node.api<Audience>('GET', `/audiences/${given.audience.id}`)).body.members).toBe(2)

    await given.node.api('PATCH', `/destinations/${given.destinationId}`, { paused: true })
    const held = await start(given.node, given.audience, 'members', { add: ['u4'] })
    await until(async () => (await syncOf(held)).phase === 'sending', 'the first is sending')
    const waiting = await start(given.node, given.audience, 'members', { add: ['u5', 'u6'], remove: ['u2'] })
    const merged = await start(given.node, given.audience, 'members', { add: ['u2', 'u7'], remove: ['u6'] })
    expect(await syncOf(waiting)).toMatchObject({ status: 'stopped', reason: `taken into ${merged}` })
    await given.node.api('PATCH', `/destinations/${given.destinationId}`, { paused: false })
    expect(await ended(given.node, given.audience, merged)).toMatchObject({ status: 'completed', added: 2, removed: 0 })
    expect(state(given.receiver.requests)).toEqual({ u1: false, u2: true, u3: true, u4: true, u5: true, u7: true })
  })

  it('sends a user again whose Identify failed for good, and nobody else', async () => {
    given.receiver.answer(({ body }) => (body.includes('"u2"') ? { status: 400 } : {}))
    const first = await uploadAndSync(given.node, given.audience, ['u1', 'u2', 'u3'])
    expect(first).toMatchObject({ status: 'completed', sent: 2, failed: 1 })
    expect(first.reason).toMatch(new RegExp(`^${given.destinationId}: .*400`))
    given.receiver.answer({})
    const again = await ended(given.node, given.audience, await start(given.node, given.audience, 'sync'))
    expect(again).toMatchObject({ added: 1, sent: 1, failed: 0 })
    expect(told(given.receiver.requests).map(({ userId }) => userId)).toEqual(
      expect.arrayContaining(['u1', 'u2', 'u3', 'u2']),
    )
    expect(toldOnce(given.receiver.requests)).toHaveLength(4)
  })

  it('tells by its calls how an endpoint does that gets no events', async () => {
    const stateOf = async () => {
      const { body } = await given.node.api<DestinationView>('GET', `/destinations/${given.destinationId}`)
      return body.endpoints[0]
    }
    expect(await stateOf()).toMatchObject({ state: 'untried', lastAttemptAt: null })
    await uploadAndSync(given.node, given.audience, ['u1'])
    await until(async () => (await stateOf())?.state === 'working', 'the endpoint works')
    given.receiver.answer({ status: 404 })
    await uploadAndSync(given.node, given.audience, ['u1', 'u2'])
    await until(async () => (await stateOf())?.state === 'failing', 'the endpoint fails')
    expect((await stateOf())?.reason).toMatch(/404/)
    const overview = async () => (await given.node.api<Overview>('GET', '/overview')).body.failingEndpoints
    expect(await overview()).toContainEqual(
      expect.objectContaining({ url: given.receiver.url, isFinal: true, failed: 0 }),
    )
    given.receiver.answer({})
    await ended(given.node, given.audience, await start(given.node, given.audience, 'sync'))
    await until(async () => (await stateOf())?.state === 'working', 'the endpoint works again')
    expect(await overview()).not.toContainEqual(expect.objectContaining({ url: given.receiver.url }))
  })

  it('hands a call that did not get through on to a delivery, with the same messageId', async () => {
    given.receiver.answer(({ body }, index) => (body.includes('"u2"') && index < 3 ? { status: 503 } : {}))
    const sync = await uploadAndSync(given.node, given.audience, ['u1', 'u2', 'u3'])
    expect(sync).toMatchObject({ status: 'completed', sent: 2, handedOn: 1, failed: 0 })
    await given.receiver.received(4)
    const ids = told(given.receiver.requests).filter(({ userId }) => userId === 'u2')
    expect(new Set(ids.map(({ messageId }) => messageId)).size).toBe(1)
    let items: { userId: string; sourceId: string }[] = []
    await until(async () => {
      ;({ items } = (
        await given.node.api<{ items: typeof items }>('GET', `/deliveries?sourceId=${given.audience.id}`)
      ).body)
      return items.length > 0
    }, 'the delivery is in the list')
    expect(items).toMatchObject([{ userId: 'u2', sourceId: given.audience.id }])
    expect(await ended(given.node, given.audience, await start(given.node, given.audience, 'sync'))).toMatchObject({
      added: 0,
      sent: 0,
    })
  })

  it('goes on when the endpoint was down in the middle, and skips nobody', async () => {
    const all = users(400)
    given.receiver.answer((_request, index) => (index >= 100 && index < 250 ? { status: 503 } : {}))
    const sync = await uploadAndSync(given.node, given.audience, all)
    expect(sync).toMatchObject({ status: 'completed', failed: 0 })
    expect(sync.sent + sync.handedOn).toBe(400)
    await until(
      () => Object.keys(state(given.receiver.requests.filter((_, i) => i < 100 || i >= 250))).length === 400,
      'all told',
    )
  })

  it('refuses to remove more than half until that is confirmed', async () => {
    await uploadAndSync(given.node, given.audience, ['u1', 'u2', 'u3', 'u4'])
    const refused = await uploadAndSync(given.node, given.audience, ['u1'])
    expect(refused).toMatchObject({ status: 'refused', sent: 0, removed: 3 })
    expect(await start(given.node, given.audience, `syncs/${refused.id}/confirm`)).toBe(refused.id)
    expect(await ended(given.node, given.audience, refused.id)).toMatchObject({
      status: 'completed',
      removed: 3,
      sent: 3,
    })
    expect(state(given.receiver.requests)).toEqual({ u1: true, u2: false, u3: false, u4: false })
  })

  it('takes a sync back', async () => {
    await uploadAndSync(given.node, given.audience, ['u1', 'u2', 'u3'])
    const changed = await uploadAndSync(given.node, given.audience, ['u2', 'u3', 'u4'])
    const undo = await ended(
      given.node,
      given.audience,
      await start(given.node, given.audience, `syncs/${changed.id}/undo`),
    )
    expect(undo).toMatchObject({ status: 'completed', kind: 'undo', added: 1, removed: 1, sent: 2 })
    expect(state(given.receiver.requests)).toEqual({ u1: true, u2: true, u3: true, u4: false })
    expect(await ended(given.node, given.audience, await start(given.node, given.audience, 'sync'))).toMatchObject({
      sent: 0,
      unchanged: 3,
    })
  })

  it('tells a new destination the whole membership, and the others only changes', async () => {
    await uploadAndSync(given.node, given.audience, ['u1', 'u2'])
    const second = await startReceiver()
    const other = await given.node.connect([], [second.url])
    await given.node.api('PATCH', `/audiences/${given.audience.id}`, {
      destinationIds: [given.destinationId, other.id],
    })
    const sync = await uploadAndSync(given.node, given.audience, ['u1', 'u2', 'u3'])
    expect(sync).toMatchObject({ status: 'completed', added: 3, sent: 4 })
    expect(state(second.requests)).toEqual({ u1: true, u2: true, u3: true })
    expect(toldOnce(given.receiver.requests)).toHaveLength(3)
    await second.close()
  })

  it('makes a third sync wait in the place of the second while the first runs', async () => {
    await given.node.api('PATCH', `/destinations/${given.destinationId}`, { paused: true })
    const first = await upload(given.node, given.audience, ['u1', 'u2'])
    await until(async () => (await syncOf(first)).phase === 'sending', 'the first is sending')
    const second = await upload(given.node, given.audience, ['u2', 'x2'])
    expect(await syncOf(second)).toMatchObject({ status: 'running', phase: 'waiting', startedAt: null })
    const third = await upload(given.node, given.audience, ['u2', 'x3'])
    expect(new Set([first, second, third]).size).toBe(3)
    expect(await syncOf(second)).toMatchObject({ status: 'stopped', reason: `replaced by ${third}` })
    await given.node.api('PATCH', `/destinations/${given.destinationId}`, { paused: false })
    expect(await ended(given.node, given.audience, third)).toMatchObject({ status: 'completed', added: 1, removed: 1 })
    expect(await syncOf(first)).toMatchObject({ status: 'completed', sent: 2 })
    expect(state(given.receiver.requests)).toEqual({ u1: false, u2: true, x3: true })
  })

  it('sends a computed trait only where its value changed, and null when it is gone', async () => {
    const trait = await createAudience(given.node, [given.destinationId], {
      name: 'Lifetime value',
      kind: 'trait',
      maxRemovalShare: 1,
    })
    const csv = 'userId,value,tier\nu1,42,gold\nu2,007,\nu3,1.5,silver\n'
    expect(await ended(given.node, trait, await upload(given.node, trait, csv, 'text/csv'))).toMatchObject({
      added: 3,
      sent: 3,
    })
    expect(state(given.receiver.requests, 'lifetime_value')).toEqual({ u1: 42, u2: '007', u3: 1.5 })
    const next = await uploadAndSync(given.node, trait, [
      { userId: 'u1', value: 42 },
      { userId: 'u2', value: { score: 7 } },
    ])
    expect(next).toMatchObject({ added: 1, removed: 1, unchanged: 1, sent: 2 })
    expect(state(given.receiver.requests.slice(3), 'lifetime_value')).toEqual({ u2: { score: 7 }, u3: null })
  })

  const syncOf = async (id: string): Promise<Sync> =>
    (await given.node.api<Sync>('GET', `/audiences/${given.audience.id}/syncs/${id}`)).body
})
