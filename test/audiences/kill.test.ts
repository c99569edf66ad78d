import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { it } from 'vitest'
import { findFreePorts } from '../../src/ports.ts'
import { apiOf, makeDataFolder, testEnvironment } from '../support/app.ts'
import { commandInTest } from '../support/built-command.ts'
import { startPostgres } from '../support/postgres.ts'
import { startReceiver } from '../support/receiver.ts'
import { isComplete } from '../support/readiness.ts'
import { createNamespace } from '../support/temporal.ts'
import { spawnTethered, type TetheredProcess } from '../support/tethered-process.ts'
import {
  createAudience,
  describeOnEachDatabase,
  ended,
  told,
  until,
  upload,
  users,
  type DatabaseKind,
} from './setup.ts'

/** On each database. */
const kills = 5
const members = 1_500
const startLimitMs = 120_000
/** Calls per second: a page is half a second of them. */
const maxPerSecond = 200
/** Sent and not written down when a node is killed: the page that is recorded and the one that is posted. Of all kills
 *  together fewer than there are members, so that a sync that begins anew each time is found out. */
const inDoubt = maxPerSecond

const killAndGoOn = (databaseKind: DatabaseKind): void => {
  it(
    `skips nobody when the node is killed ${kills} times in the middle of it`,
    { timeout: 300_000 },
    async ({ expect, onTestFinished }) => {
      const postgres = databaseKind === 'PostgreSQL' ? await startPostgres() : undefined
      onTestFinished(() => postgres?.stop())
      const databaseUrl = await postgres?.createDatabase()
      const dataDir = await makeDataFolder()
      onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
      const receiver = await startReceiver()
      onTestFinished(() => receiver.close())
      const [port] = await findFreePorts('127.0.0.1', 1)
      const env = {
        PATH: process.env['PATH'],
        ...testEnvironment(await createNamespace(), dataDir),
        PORT: String(port),
        ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
      }
      const node = apiOf(`http://127.0.0.1:${port}`)
      const startNode = async (): Promise<TetheredProcess> => {
        const started = await spawnTethered(process.execPath, [...commandInTest, 'start'], {
          logFile: `${dataDir}/log`,
          env,
        })
        onTestFinished(() => started.stop())
        await until(async () => !started.isRunning() || (await isComplete(node.url)), 'the node is ready', startLimitMs)
        if (!started.isRunning()) throw new Error(`the node ended: ${await started.exited}`)
        return started
      }
      let running = await startNode()
      const destination = await node.connect([], [receiver.url])
      const audience = await createAudience(node, [destination.id], { maxPerSecond })
      const syncId = await upload(node, audience, users(members))
      const progress: number[] = []
      for (let n = 0; n < kills; n++) {
        // The first one is surely in the middle: a node that starts quickly may otherwise die five times before it begins.
        if (n === 0) await until(() => receiver.requests.length > 0, 'the sync has begun')
        else await sleep(Math.random() * 3_000)
        process.kill(running.pid, 'SIGKILL')
        await running.exited
        progress.push(receiver.requests.length)
        running = await startNode()
      }
      // The kills were in the middle: not all before the first call, nor after the last.
      expect(Math.max(...progress)).toBeGreaterThan(0)
      expect(Math.min(...progress)).toBeLessThan(members)
      const sync = await ended(node, audience, syncId)
      expect(sync).toMatchObject({ status: 'completed', added: members, sent: members, failed: 0 })
      const all = told(receiver.requests)
      expect(new Set(all.map(({ userId }) => userId)).size).toBe(members)
      expect(new Set(all.map(({ messageId }) => messageId)).size).toBe(members)
      expect(all.length - members).toBeLessThan(kills * inDoubt)
      expect(all.every(({ traits }) => traits['vip_customers'] === true)).toBe(true)
    },
  )
}

describeOnEachDatabase('a sync on', killAndGoOn, { concurrent: true })
