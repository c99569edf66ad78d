/** The backup of docs/deployment.md, made under load and restored: what docs/operations.md says of it is so. */

import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect, inject, it, onTestFinished } from 'vitest'
import { linesThatBegin } from '../support/page-lines.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import { startReceiver } from '../support/receiver.ts'
import { startTemporalCluster, type TemporalCluster } from '../support/temporal-cluster.ts'
import { requestsOf } from '../support/told.ts'
import { until } from '../support/wait.ts'
import { startNode, type PostriderNode } from './postrider-node.ts'

const LIMIT_MS = 150_000
/** In the container of the compose file. */
const dataFolder = '/var/lib/postgresql/data'

/** Of the page, the command that runs in the container of PostgreSQL. */
function commandOf(verb: string, inContainer: RegExp): string {
  const [line] = linesThatBegin('docker').filter((one) => one.startsWith(`docker compose ${verb} `))
  const [, command] = inContainer.exec(line ?? '') ?? []
  if (command === undefined) throw new Error(`docs/deployment.md has no docker compose ${verb} for this`)
  return command
}

it.skipIf(findPostgres() === undefined)('a restored backup goes on as the pages say', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-restore-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const backup = join(folder, 'backup.tar')
  const receiver = await startReceiver()
  onTestFinished(() => receiver.close())
  const adminToken = randomBytes(16).toString('hex')
  const ring = `k1:${randomBytes(32).toString('base64')}`
  const startParts = async (postgres: PostgresServer, url: string): Promise<[TemporalCluster, PostriderNode]> => {
    onTestFinished(() => postgres.stop())
    const cluster = await startTemporalCluster({
      postgres,
      binaries: inject('temporalBinaries'),
      cli: inject('temporalCli'),
    })
    onTestFinished(() => cluster.stop())
    const settings = {
      DATABASE_URL: url,
      TEMPORAL_ADDRESS: cluster.address,
      POSTRIDER_ENCRYPTION_KEYS: ring,
      POSTRIDER_ALLOWED_NETWORKS: '127.0.0.0/8',
      POSTRIDER_RETRY_INITIAL: '500ms',
      POSTRIDER_RETRY_MAX: '2s',
    }
    const node = await startNode(settings, adminToken)
    onTestFinished(() => node.stop())
    await node.ready()
    return [cluster, node]
  }

  const postgres = await startPostgres()
  const databaseUrl = await postgres.createDatabase()
  const [cluster, node] = await startParts(postgres, databaseUrl)
  const connected = async (path: string): Promise<string> => {
    const { id, writeKey } = await node.manage<{ id: string; writeKey: string }>('POST', '/sources', { name: path })
    await node.manage('POST', '/destinations', {
      name: path,
      type: 'webhooks',
      sourceIds: [id],
      settings: { webhooks: [{ url: `${receiver.url}/${path}` }] },
    })
    await until(
      'the source is known',
      async () => (await node.track(writeKey, { userId: 'u', event: 'Probe' })) === 200,
    )
    return writeKey
  }
  // Who fails has an endpoint of its own: attempts at it become few.
  const [shop, failing] = [await connected('shop'), await connected('failing')]
  const arrivals = (messageId: string): number => requestsOf(receiver, messageId).length
  const post = async (to: PostriderNode, messageId: string, writeKey = shop): Promise<void> => {
    // Each event is of a user who was not seen before.
    const event = { userId: `user-of-${messageId}`, event: 'Ordered', messageId }
    expect(await to.track(writeKey, event)).toBe(200)
  }
  const named = (what: string, count = 20): string[] => Array.from({ length: count }, (_, n) => `${what}-${String(n)}`)
  const untilAll = (ids: string[], times: number): Promise<unknown> =>
    until(`${ids[0] ?? ''} and the others arrived`, () => ids.every((one) => arrivals(one) >= times), LIMIT_MS)

  const [delivered, retried, later] = [named('delivered'), named('retried'), named('later')]
  let isAway = true
  receiver.answer(({ path }) => ({ status: isAway && path === '/failing' ? 503 : 200 }))
  for (const one of delivered) await post(node, one)
  for (const one of retried) await post(node, one, failing)
  await untilAll(delivered, 1)
  await until('some are tried', () => retried.some((one) => arrivals(one) > 0), LIMIT_MS)

  // Events come while the backup is made.
  const during: string[] = []
  let isOver = false
  const sending = (async () => {
    for (; !isOver; await sleep(10)) {
      const messageId = `during-${String(during.length)}`
      await post(node, messageId)
      during.push(messageId)
    }
  })()
  await until('events come', () => during.length > 20)
  const { host: PGHOST, port, password: PGPASSWORD } = postgres
  const PATH = [findPostgres(), process.env['PATH']].join(delimiter)
  const make = commandOf('exec', /^docker compose exec -T postgres (pg_basebackup .*)$/)
  await promisify(execFile)('sh', ['-c', make], {
    cwd: folder,
    env: { PATH, PGHOST, PGPORT: String(port), PGPASSWORD },
  })
  isOver = true
  await sending
  for (const one of later) await post(node, one)
  await untilAll([...during, ...later], 1)
  for (const pid of [node.pid, cluster.pid]) process.kill(pid, 'SIGKILL')
  await Promise.all([node.stop(), cluster.stop(), postgres.stop()])

  isAway = false
  const restoredAt = new Date()
  const unpack = commandOf('run', /^docker compose run .* --entrypoint tar postgres (.*) < backup\.tar$/)
  const restored = await startPostgres({
    backup: {
      password: PGPASSWORD,
      unpack: async (data) => {
        expect(unpack).toContain(dataFolder)
        const line = `tar ${unpack.replace(dataFolder, `'${data}'`)} < '${backup}'`
        await promisify(execFile)('sh', ['-c', line])
      },
    },
  })
  const url = new URL(databaseUrl)
  url.port = String(restored.port)
  const [, again] = await startParts(restored, url.href)

  // What was under way goes on.
  const hasArrived = (one: string): boolean => requestsOf(receiver, one).some(({ arrivedAt }) => arrivedAt > restoredAt)
  await until('what was under way arrives', () => retried.every(hasArrived), LIMIT_MS)
  // Sources send again from the moment on: what the databases know is delivered once, and the rest once more.
  for (const one of [...delivered, ...during, ...later]) await post(again, one)
  await untilAll(later, 2)
  await post(again, 'last')
  await untilAll(['last'], 1)
  expect(delivered.map(arrivals)).toEqual(delivered.map(() => 1))
  const statusOf = async (messageId: string): Promise<string[]> => {
    const path = `/deliveries?messageId=${messageId}`
    const { items } = await again.manage<{ items: { status: string }[] }>('GET', path)
    return items.map(({ status }) => status)
  }
  for (const one of [...delivered, ...retried, ...during, ...later])
    await until(`${one} is delivered`, async () => (await statusOf(one)).join() === 'delivered', LIMIT_MS)
})
