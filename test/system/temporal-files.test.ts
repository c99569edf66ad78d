/** Whoever reads the files of Temporal's database learns nothing of the events that it carried. */

import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Audience } from '../../src/schemas/audience.ts'
import type { DeletionRequest } from '../../src/schemas/deletion-request.ts'
import type { Source } from '../../src/schemas/source.ts'
import { databaseFile } from '../../src/temporal/server-process.ts'
import { makeDataFolder } from '../support/app.ts'
import { startEmbeddedNode } from '../support/embedded-node.ts'
import { deliveryPath, listed, track, untilStatus } from '../support/deliveries.ts'
import { foundIn } from '../support/found-in.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

const timeout = 300_000

describe("the files of Temporal's database", { timeout }, () => {
  it('have no name and no property of any event, whatever became of it', async () => {
    const dataDir = await makeDataFolder()
    const node = await startEmbeddedNode(dataDir, { POSTRIDER_RETRY_INITIAL: '500ms' })
    onTestFinished(async () => {
      await node.stop()
      await rm(dataDir, { recursive: true, force: true })
    })
    await using taking = await startReceiver()
    await using failing = await startReceiver()
    await using refusing = await startReceiver()
    failing.answer({ status: 503, body: 'walrus-out-of-order' })
    refusing.answer({ status: 404, body: 'narwhal-not-here' })
    const connected = async (url: string): Promise<Source> => {
      const source = await node.createSource()
      await node.connect([source], [url])
      return source
    }
    const [good, down, bad] = await Promise.all([taking, failing, refusing].map(({ url }) => connected(url)))
    if (!good || !down || !bad) throw new Error('no sources')
    const event = (messageId: string) => ({
      messageId,
      userId: `giraffe-${messageId}@example.com`,
      event: 'Pelican Ordered',
      properties: { what: 'flamingo-feathers' },
    })

    const delivered = await track(node, good, event('badger-single'))
    const retried = await track(node, down, event('badger-retried'))
    const cancelled = await track(node, down, event('badger-cancelled'))
    const refused = await track(node, bad, event('badger-refused'))
    const batch = Array.from({ length: 240 }, (_, n) => ({ type: 'track', ...event(`badger-parcel-${n}`) }))
    expect((await node.post('/batch', good.writeKey, { batch })).status).toBe(200)
    await untilStatus(node, delivered, 'delivered')
    const { body: again } = await node.api<{ id: string }>('POST', deliveryPath(delivered, '/redeliver'))
    await untilStatus(node, again.id, 'delivered')
    await untilStatus(node, retried, 'retrying')
    await node.api('POST', deliveryPath(retried, '/retry'))
    await untilStatus(node, cancelled, 'retrying')
    await node.api('POST', deliveryPath(cancelled, '/cancel'))
    await untilStatus(node, cancelled, 'cancelled')
    expect((await untilStatus(node, refused, 'failed')).timeline).toMatchObject([{ excerpt: 'narwhal-not-here' }])
    const bulk = await node.api('POST', '/deliveries/retry', { userId: event('badger-retried').userId })
    expect(bulk.status).toBe(202)

    const destination = await node.connect([], [failing.url])
    const { body: audience } = await node.api<Audience>('POST', '/audiences', {
      name: 'Animals',
      destinationIds: [destination.id],
      membership: { kind: 'push' },
    })
    await node.api('POST', `/audiences/${audience.id}/members`, { add: ['okapi-member@example.com'] })
    const [handedOn] = await listed(node, { userId: 'okapi-member@example.com' })
    expect(handedOn?.id).toMatch(new RegExp(`^event/${audience.id}/.*okapi-member@example.com/${destination.id}$`))
    const { body: request } = await node.api<DeletionRequest>('POST', '/deletion-requests', {
      userIds: ['okapi-deleted@example.com'],
      sourceIds: [good.id],
    })
    const told = `delete/${request.id}/${good.id}/okapi-deleted@example.com`
    expect((await untilStatus(node, told, 'delivered')).id).toBe(told)
    await until('all arrived', () => taking.requests.length >= 240 + 3)
    await node.stop()

    const names = ['badger-', 'giraffe-', 'okapi-', 'Pelican Ordered']
    const contents = ['flamingo-feathers', 'walrus-out-of-order', 'narwhal-not-here']
    const known = ['deliverParcel', 'deletionRequest', 'syncAudience', good.id]
    const files = (await readdir(dataDir)).filter((name) => name.startsWith(databaseFile))
    expect(files).toContain(databaseFile)
    const found = new Set<string>()
    for (const name of files) {
      const file = await readFile(join(dataDir, name))
      for (const text of foundIn(file, known)) found.add(text)
      expect(foundIn(file, [...names, ...contents]), name).toEqual([])
    }
    // What the files do have is found: in the database, or in its log, which is not always written back at the end.
    expect([...found].sort()).toEqual(known.sort())
  })
})
