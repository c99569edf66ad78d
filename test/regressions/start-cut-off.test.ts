/** Symptom: a node that was killed in its first start, just after its Temporal server was noted in the data folder, and
 *  started again took events with 200 that were gone after one more restart.
 *  Cause: the mark of a database that is half made was removed only by the start that had begun to make it; a start that
 *  took the server over left it, and the one after that made the database anew. The embedded PostgreSQL had no such mark.
 *  Consequence: all deliveries of the installation were lost, without a word. */

import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { expect, it, onTestFinished } from 'vitest'
import { createDestinationStore } from '../../src/db/destinations.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { createAddressGuard } from '../../src/delivery/guard-address.ts'
import { createSecretBox } from '../../src/secrets.ts'
import { startQuickstart } from '../../src/quickstart/quickstart.ts'
import { watchSettings } from '../../src/settings/settings.ts'
import { isRunning } from '../../src/process-identity.ts'
import type { Page } from '../../src/db/page.ts'
import type { Delivery } from '../../src/schemas/delivery.ts'
import { endOrphan } from '../../src/temporal/embedded-server.ts'
import { readNote } from '../../src/temporal/server-process.ts'
import { apiOf, makeDataFolder } from '../support/app.ts'
import { startProgram } from '../support/program.ts'
import { isComplete } from '../support/readiness.ts'
import { findFreePorts } from '../../src/ports.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

const limitMs = 90_000

it(
  'completes a start that was killed at any of its steps, and loses nothing after it',
  { timeout: 400_000 },
  async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'postrider-test-'))
    onTestFinished(async () => {
      await endOrphan(dataDir)
      await rm(dataDir, { recursive: true, force: true })
    })
    const [port = 0] = await findFreePorts('127.0.0.1', 1)
    const url = `http://127.0.0.1:${port}`
    const start = () =>
      startProgram({
        PORT: String(port),
        POSTRIDER_DATA_DIR: dataDir,
        POSTRIDER_TEMPORAL_PORT: '0',
        POSTRIDER_TEMPORAL_UI_PORT: '0',
        POSTRIDER_RETRY_INITIAL: '500ms',
        POSTRIDER_RETRY_MAX: '500ms',
        LOG_LEVEL: 'warn',
      })
    const has = (file: string) => () => existsSync(join(dataDir, file))
    const isServerNoted = async () => {
      const note = await readNote(dataDir)
      return note !== undefined && isRunning(note)
    }
    /** In their order: each was not reached by the start before. */
    const steps: { until: () => boolean | Promise<boolean>; alsoServer?: boolean }[] = [
      { until: has('encryption-keys') },
      { until: has('pglite.unfinished') },
      { until: has('temporal.db.unfinished') },
      { until: isServerNoted, alsoServer: true },
      { until: has('temporal.db'), alsoServer: true },
      { until: isServerNoted },
      { until: async () => (await isServerNoted()) && !has('temporal.db.unfinished')() },
      { until: () => isComplete(url), alsoServer: true },
    ]
    await using receiver = await startReceiver()
    receiver.answer({ status: 503 })
    for (const [index, step] of steps.entries()) {
      await using cutOff = start()
      const deadline = performance.now() + limitMs
      while (!(await step.until())) {
        if (performance.now() > deadline) throw new Error(`step ${index} was not reached:\n${cutOff.stderr()}`)
        await sleep(2)
      }
      cutOff.signal('SIGKILL')
      await cutOff.exited
      if (step.alsoServer === true) await endOrphan(dataDir)
    }

    await using node = start()
    const address = await node.url()
    const token = (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim()
    expect(node.stdout()).toContain('Send your first event:')
    const api = apiOf(address, token)
    const source = await api.createSource()
    await api.connect([source], [receiver.url])
    const messageIds = Array.from({ length: 20 }, (_, n) => `kept-${n}`)
    for (const messageId of messageIds)
      expect((await api.post('/track', source.writeKey, { messageId, userId: 'u1', event: 'E' })).status).toBe(200)
    await receiver.received(messageIds.length, limitMs)
    node.signal('SIGTERM')
    expect(await node.exited).toBe(0)

    receiver.answer({})
    await using again = start()
    const after = apiOf(await again.url(), token)
    const query = `/deliveries?status=delivered&sourceId=${source.id}&limit=50`
    const delivered = await until(
      'all events are delivered',
      async () => {
        const { items } = (await after.api<Page<Delivery>>('GET', query)).body
        return items.length >= messageIds.length && items
      },
      limitMs,
    )
    expect(delivered.map(({ messageId }) => messageId).sort()).toEqual([...messageIds].sort())
    const server = await readNote(dataDir)
    expect(server !== undefined && isRunning(server)).toBe(true)
    // As a terminal that is closed does.
    again.signal('SIGHUP')
    expect(await again.exited).toBe(0)
    expect(server !== undefined && isRunning(server)).toBe(false)
  },
)

it('makes the Quickstart whole or not at all, and only where it may be', async () => {
  const dataDir = await makeDataFolder()
  const busy = await startReceiver()
  const logger = pino({ level: 'silent' })
  const database = await openPglite(join(dataDir, 'pglite'), logger)
  const secrets = createSecretBox([{ id: 'k1', key: Buffer.alloc(32, 7) }])
  const destinationsIn = (of: typeof database) => createDestinationStore(of, secrets)
  const settings = watchSettings(database, destinationsIn(database), logger)
  try {
    await settings.load()
    const quickstart = (port?: number) =>
      startQuickstart({
        database,
        destinationsIn,
        settings,
        guard: createAddressGuard(['127.0.0.0/8']),
        port,
        onReceived: () => {},
        signal: new AbortController().signal,
      })
    // The last step of making it fails, as when the database goes away.
    await database.query(
      `create function refuse() returns trigger language plpgsql as 'begin raise exception ''away''; end'`,
    )
    await database.query('create trigger refuse before insert on installation execute function refuse()')
    await expect(quickstart()).rejects.toThrow('away')
    await database.query('drop trigger refuse on installation')
    await settings.catchUp()
    const made = await quickstart()
    expect(made?.writeKey).toBe([...settings.sources()][0]?.writeKey)
    expect([...settings.sources()]).toHaveLength(1)
    await made?.receiver.stop()
    const taken = Number(new URL(busy.url).port)
    await expect(quickstart(taken)).rejects.toThrow(`POSTRIDER_QUICKSTART_PORT: port ${taken} on 127.0.0.1 is in use`)
  } finally {
    await busy[Symbol.asyncDispose]()
    settings.close()
    await database.close()
    await rm(dataDir, { recursive: true })
  }
})
