import { request } from 'node:http'
import { expect, it } from 'vitest'
import { audienceWorkflowId, progressQuery } from '../../src/contracts/audience-sync.ts'
import type { Audience, Preview, Sync } from '../../src/schemas/audience.ts'
import { adminToken } from '../support/app.ts'
import {
  createAudience,
  describeOnEachDatabase,
  ended,
  givenAudience,
  getSync,
  ndjson,
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

  /** Who was told what in the name of an audience, in the order of the users. */
  const newsOf = ({ id, key }: Audience): string[] =>
    toldOnce(given.receiver.requests)
      .filter(({ messageId }) => messageId.startsWith(`${id}:`))
      .map(({ userId, traits }) => `${userId} ${String(traits[key])}`)
      .sort()

  it('sends nothing of an upload that was cut off in the middle', async () => {
    await uploadAndSync(given.node, given.audience, ['u1', 'u2'])
    const { hostname, port, pathname } = new URL(`${given.node.url}/api/v1/audiences/${given.audience.id}/members`)
    for (const length of [undefined, 1_000_000]) {
      const cut = request({
        hostname,
        port,
        path: pathname,
        method: 'PUT',
        headers: {
          authorization: `Bearer ${adminToken}`,
          'content-type': 'application/x-ndjson',
          ...(length !== undefined && { 'content-length': length }),
        },
      })
      const closed = new Promise((resolve) => cut.once('close', resolve))
      cut.on('error', () => undefined)
      await new Promise<void>((resolve) => cut.write(ndjson(users(3_000, 'cut')), () => resolve()))
      cut.destroy()
      await closed
    }
    // The next sync proves it: what was cut off would have come before.
    const sync = await uploadAndSync(given.node, given.audience, ['u1', 'u2', 'u3'])
    expect(sync).toMatchObject({ status: 'completed', added: 1, removed: 0 })
    expect(state(given.receiver.requests)).toEqual({ u1: true, u2: true, u3: true })
    expect(
      (await given.node.api<{ items: Sync[] }>('GET', `/audiences/${given.audience.id}/syncs`)).body.items,
    ).toHaveLength(2)
  })

  it('counts bad rows with their lines, and fails the sync that has more than its share', async () => {
    const body = '{"userId":"u1"}\nnot json\n\n{"userId":""}\n{"userId":"u2","traits":[]}\n"u3"\n'
    const failed = await ended(given.node, given.audience, await upload(given.node, given.audience, body))
    expect(failed).toMatchObject({ status: 'failed', rowsRead: 5, badRows: 3, sent: 0 })
    expect(failed.badRowSample).toEqual([
      { line: 2, reason: 'it is not JSON' },
      { line: 4, reason: 'userId is missing' },
      { line: 5, reason: 'traits is not an object' },
    ])
    expect(failed.reason).toMatch(/3 of 5 rows are bad; line 2: it is not JSON/)
    await given.node.api('PATCH', `/audiences/${given.audience.id}`, { maxBadRowShare: 0.6 })
    expect(await ended(given.node, given.audience, await upload(given.node, given.audience, body))).toMatchObject({
      status: 'completed',
      sent: 2,
    })
    expect(state(given.receiver.requests)).toEqual({ u1: true, u3: true })
  })

  it('previews an upload without sending anything', async () => {
    await uploadAndSync(given.node, given.audience, ['u1', 'u2', 'u3'])
    const response = await fetch(`${given.node.url}/api/v1/audiences/${given.audience.id}/preview`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'text/csv' },
      body: 'userId\nu4\n',
    })
    const preview = (await response.json()) as Preview
    expect(preview).toMatchObject({
      rowsRead: 1,
      destinations: [
        { destinationId: given.destinationId, added: 1, removed: 3, unchanged: 0, needsConfirmation: true },
      ],
    })
    expect(preview.destinations[0]?.sample).toHaveLength(4)
    await uploadAndSync(given.node, given.audience, ['u1', 'u2', 'u3', 'u9'])
    expect(toldOnce(given.receiver.requests)).toHaveLength(4)
  })

  it('previews what would be refused as refused, in the words of the sync', async () => {
    const response = await fetch(`${given.node.url}/api/v1/audiences/${given.audience.id}/preview`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/x-ndjson' },
      body: '{"userId":"u1"}\nnot json\n',
    })
    const preview = (await response.json()) as Preview
    const sync = await ended(
      given.node,
      given.audience,
      await upload(given.node, given.audience, '{"userId":"u1"}\nnot json\n'),
    )
    expect(sync).toMatchObject({ status: 'failed', sent: 0 })
    expect(preview).toMatchObject({ rowsRead: 2, badRows: 1, refusal: sync.reason, destinations: [] })
    expect(given.receiver.requests).toEqual([])
  })

  it('says in a preview why the members cannot be fetched now', async () => {
    given.receiver.answer({ status: 503 })
    for (const [membership, why] of [
      [{ kind: 'http', url: `${given.receiver.url}/members.csv` }, 'its URL answered 503'],
      [{ kind: 'http', url: 'http://127.0.0.1:9/members.csv' }, '127.0.0.1 refused the connection'],
      [
        { kind: 'sql', connectionString: 'postgres://u:secret@127.0.0.1:9/db?sslmode=disable', query: 'select 1' },
        '127.0.0.1 refused the connection',
      ],
    ] as const) {
      const audience = await createAudience(given.node, [], { name: 'Out of reach', membership })
      const { status, body } = await given.node.api('POST', `/audiences/${audience.id}/preview`)
      expect(status).toBe(400)
      expect(body).toMatchObject({ message: expect.stringContaining(why) as string })
      expect(JSON.stringify(body)).not.toContain('secret')
      await given.node.api('DELETE', `/audiences/${audience.id}`)
    }
  })

  it('counts the calls of a slow destination while they go out', async () => {
    given.receiver.answer({ delayMs: 1_000 })
    const syncId = await upload(given.node, given.audience, users(300))
    await until(async () => (await getSync(given.node, given.audience, syncId)).sent > 0, 'some are counted')
    expect(given.receiver.requests.length).toBeLessThan(300)
    await start(given.node, given.audience, `syncs/${syncId}/stop`)
    const stopped = await ended(given.node, given.audience, syncId)
    expect(stopped.sent).toBe(toldOnce(given.receiver.requests).length)
  })

  it('stops a running sync; what was not sent is sent by the next', async () => {
    await given.node.api('PATCH', `/audiences/${given.audience.id}`, { maxPerSecond: 40 })
    const syncId = await upload(given.node, given.audience, users(200))
    await until(() => given.receiver.requests.length >= 20, 'some are sent')
    await start(given.node, given.audience, `syncs/${syncId}/stop`)
    const stopped = await ended(given.node, given.audience, syncId)
    expect(stopped.status).toBe('stopped')
    expect(stopped.sent).toBe(toldOnce(given.receiver.requests).length)
    expect(stopped.sent).toBeLessThan(200)
    await given.node.api('PATCH', `/audiences/${given.audience.id}`, { maxPerSecond: null })
    expect(await ended(given.node, given.audience, await start(given.node, given.audience, 'sync'))).toMatchObject({
      status: 'completed',
      sent: 200 - stopped.sent,
    })
    expect(toldOnce(given.receiver.requests)).toHaveLength(200)
  })

  const readFigures = async (): Promise<Record<string, number>> => {
    const text = await (await fetch(`${given.node.url}/metrics`)).text()
    const values = text.matchAll(/^postrider_audience_(\S+) (\d+)$/gm)
    return Object.fromEntries([...values].map(([, name = '', value]): [string, number] => [name, Number(value)]))
  }

  it('bounds the rate to a destination, whichever audiences share it, and shows progress', async () => {
    const other = await createAudience(given.node, [given.destinationId], { name: 'Other', maxPerSecond: 60 })
    await given.node.api('PATCH', `/audiences/${given.audience.id}`, { maxPerSecond: 60 })
    const before = await readFigures()
    const startedAt = Date.now()
    const [syncId, otherSyncId] = await Promise.all(
      [given.audience, other].map((each) => upload(given.node, each, users(75))),
    )
    // The others take two seconds and more.
    await until(() => given.receiver.requests.length >= 20, 'some are sent')
    expect(await getSync(given.node, given.audience, String(syncId))).toMatchObject({ phase: 'sending', added: 75 })
    const workflow = given.node.app.temporal.client.workflow.getHandle(audienceWorkflowId(given.audience.id))
    expect(await workflow.query(progressQuery)).toMatchObject({ syncId, phase: 'sending', added: 75, failed: 0 })
    await until(() => given.receiver.requests.length >= 120, 'most are sent')
    // The 120th call comes no earlier than 119 sixtieths of a second after the first.
    expect(Date.now() - startedAt).toBeGreaterThan(1_900)
    const syncs = [
      await ended(given.node, given.audience, String(syncId)),
      await ended(given.node, other, String(otherSyncId)),
    ]
    for (const sync of syncs) {
      expect(sync.sent).toBe(75)
      expect(sync.rate).toBeGreaterThan(0)
      expect(sync.rate).toBeLessThan(60)
    }
    const after = await readFigures()
    const grown = {
      'rows_total{result="good"}': 150,
      'rows_total{result="bad"}': 0,
      'changes_total{change="added"}': 150,
      'identifies_total{outcome="sent"}': 150,
      'syncs_total{status="completed"}': 2,
      syncs_begun: 0,
    }
    for (const [name, by] of Object.entries(grown))
      expect([name, (after[name] ?? 0) - (before[name] ?? 0)]).toEqual([name, by])
  })

  it('sends everything anew on a full resync', async () => {
    await uploadAndSync(given.node, given.audience, ['u1', 'u2'])
    expect(await ended(given.node, given.audience, await start(given.node, given.audience, 'resync'))).toMatchObject({
      sent: 2,
      failed: 0,
    })
    expect(new Set(told(given.receiver.requests).map(({ messageId }) => messageId)).size).toBe(4)
  })

  it('deletes an audience, and tells its members when asked to', async () => {
    await uploadAndSync(given.node, given.audience, ['u1', 'u2'])
    const gone = await given.node.api('DELETE', `/audiences/${given.audience.id}?notify=true`)
    expect(gone.status).toBe(200)
    await given.receiver.received(4)
    expect(state(given.receiver.requests)).toEqual({ u1: false, u2: false })
    expect((await given.node.api('GET', `/audiences/${given.audience.id}`)).status).toBe(404)

    const silent = await until(async () => {
      const { status } = await given.node.api('POST', '/audiences', {
        name: 'VIP customers',
        destinationIds: [given.destinationId],
      })
      return status === 201
    }, 'the key is free again').then(() => given.node.api<{ items: Audience[] }>('GET', '/audiences?limit=200'))
    const again = silent.body.items.find(({ destinationIds }) => destinationIds.includes(given.destinationId))
    expect(again).toBeDefined()
    if (again === undefined) return
    await uploadAndSync(given.node, again, ['u1'])
    await given.node.api('DELETE', `/audiences/${again.id}`)
    const other = await createAudience(given.node, [given.destinationId], { name: 'Other' })
    await uploadAndSync(given.node, other, ['u7'])
    expect(newsOf(given.audience)).toEqual(['u1 false', 'u1 true', 'u2 false', 'u2 true'])
    expect(newsOf(again)).toEqual(['u1 true'])
    expect(newsOf(other)).toEqual(['u7 true'])
    expect(toldOnce(given.receiver.requests)).toHaveLength(6)
  })

  it('refuses a second audience with the same key in one destination, and asks about the key at a rename', async () => {
    const same = await given.node.api<{ code: string }>('POST', '/audiences', {
      name: 'vip  CUSTOMERS!',
      destinationIds: [given.destinationId],
    })
    expect(same).toMatchObject({ status: 409, body: { code: 'conflict' } })
    await uploadAndSync(given.node, given.audience, ['u1'])
    const path = `/audiences/${given.audience.id}`
    expect(await given.node.api('PATCH', path, { name: 'Best customers' })).toMatchObject({
      status: 409,
      body: { path: 'keepKey' },
    })
    expect((await given.node.api<Audience>('PATCH', path, { name: 'Best customers', keepKey: true })).body.key).toBe(
      'vip_customers',
    )
    const other = await createAudience(given.node, [given.destinationId], { name: 'One' })
    await uploadAndSync(given.node, other, ['u1'])
    expect(
      (await given.node.api<Audience>('PATCH', `/audiences/${other.id}`, { name: 'Two', keepKey: false })).body.key,
    ).toBe('two')
    expect(await ended(given.node, other, await start(given.node, other, 'sync'))).toMatchObject({ added: 1, sent: 1 })
    expect(told(given.receiver.requests).at(-1)?.traits).toEqual({ two: true })
  })

  it('holds a sync while its destination is paused', async () => {
    await given.node.api('PATCH', `/destinations/${given.destinationId}`, { paused: true })
    const syncId = await upload(given.node, given.audience, ['u1'])
    await until(async () => (await getSync(given.node, given.audience, syncId)).phase === 'sending', 'it is sending')
    expect(given.receiver.requests).toHaveLength(0)
    await given.node.api('PATCH', `/destinations/${given.destinationId}`, { paused: false })
    expect(await ended(given.node, given.audience, syncId)).toMatchObject({ status: 'completed', sent: 1 })
  })

  it('says that a destination was passed over because it is off, and tells it once it is on', async () => {
    await given.node.api('PATCH', `/destinations/${given.destinationId}`, { enabled: false })
    const passedOver = await uploadAndSync(given.node, given.audience, ['u1', 'u2'])
    const { body } = await given.node.api<{ name: string }>('GET', `/destinations/${given.destinationId}`)
    expect(passedOver).toMatchObject({
      status: 'completed',
      added: 2,
      sent: 0,
      reason: `${body.name} is switched off: what it was not told comes with the next sync after it is switched on.`,
    })
    expect(given.receiver.requests).toHaveLength(0)
    await given.node.api('PATCH', `/destinations/${given.destinationId}`, { enabled: true })
    const next = await ended(given.node, given.audience, await start(given.node, given.audience, 'sync'))
    expect(next).toMatchObject({ status: 'completed', added: 2, sent: 2, reason: null })
    expect(state(given.receiver.requests)).toEqual({ u1: true, u2: true })
  })

  it('goes on with a sync whose workflow Temporal has lost', async () => {
    await given.node.api('PATCH', `/destinations/${given.destinationId}`, { paused: true })
    const syncId = await upload(given.node, given.audience, ['u1'])
    await until(async () => (await getSync(given.node, given.audience, syncId)).phase === 'sending', 'it is sending')
    await given.node.app.temporal.client.workflow.getHandle(audienceWorkflowId(given.audience.id)).terminate('lost')
    await given.node.api('PATCH', `/destinations/${given.destinationId}`, { paused: false })
    expect(await ended(given.node, given.audience, syncId)).toMatchObject({ status: 'completed', sent: 1 })
    expect(state(given.receiver.requests)).toEqual({ u1: true })
  })

  it('reports a delivery that failed in the end, and sends the user again', async () => {
    given.receiver.answer((_request, index) => (index === 0 ? { status: 503 } : { status: 400 }))
    const first = await uploadAndSync(given.node, given.audience, ['u1'])
    expect(first).toMatchObject({ status: 'completed', handedOn: 1, failed: 0 })
    await given.receiver.received(2)
    given.receiver.answer({})
    let again: Sync | undefined
    await until(async () => {
      again = await ended(given.node, given.audience, await start(given.node, given.audience, 'sync'))
      return again.sent === 1
    }, 'the failed delivery is known')
    expect(await getSync(given.node, given.audience, first.id)).toMatchObject({ handedOn: 0, failed: 1 })
    expect(again).toMatchObject({ added: 1, sent: 1 })
  })
})
