/** Two nodes with the API behind the proxy and two that deliver, on one Temporal server and one PostgreSQL with a user per purpose: the
 *  scripts and settings are those of docker-compose.yml. Any of the nodes may die. */
import { randomBytes } from 'node:crypto'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { commandInTest } from '../support/built-command.ts'
import { foundIn } from '../support/found-in.ts'
import { findNginx, startNginx, type Proxy } from '../support/nginx.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import { readinessOf } from '../support/readiness.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { startTemporalCluster, type TemporalCluster } from '../support/temporal-cluster.ts'
import { until } from '../support/wait.ts'
import { startNode, type PostriderNode } from './postrider-node.ts'

const DELIVERY_LIMIT_MS = 120_000
const ALLOWED = [200, 429, 503]

interface Source {
  id: string
  writeKey: string
}

describe.skipIf(findPostgres() === undefined || findNginx() === undefined)('roles on nodes of their own', () => {
  let folder: string
  let postgres: PostgresServer
  let cluster: TemporalCluster
  let receiver: Receiver
  let proxy: Proxy
  let settings: Record<string, string>
  let adminToken: string
  let source: Source
  const apis: PostriderNode[] = []
  const workers: PostriderNode[] = []
  const agent = new Agent({ connections: 16 })

  const startRole = (role: 'api' | 'worker', port?: string): Promise<PostriderNode> =>
    startNode({ ...settings, ...(port !== undefined && { PORT: port }) }, adminToken, undefined, ['--role', role])

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'postrider-roles-'))
    postgres = await startPostgres()
    const users = await createUsers(postgres, folder)
    cluster = await startTemporalCluster({
      postgres: { ...postgres, user: 'temporal', password: users.temporal },
      binaries: inject('temporalBinaries'),
      cli: inject('temporalCli'),
    })
    receiver = await startReceiver()
    adminToken = randomBytes(16).toString('hex')
    settings = {
      DATABASE_URL_FILE: await secretFile('database-url', users.databaseUrl),
      POSTRIDER_ENCRYPTION_KEYS_FILE: await secretFile('keys', `k1:${randomBytes(32).toString('base64')}\n`),
      TEMPORAL_ADDRESS: cluster.address,
      POSTRIDER_ALLOWED_NETWORKS: '127.0.0.0/8',
      POSTRIDER_TRUSTED_PROXIES: '127.0.0.0/8',
      POSTRIDER_RETRY_INITIAL: '500ms',
    }
    apis.push(...(await Promise.all([startRole('api'), startRole('api')])))
    proxy = await startNginx([hostOf(apis[0]), hostOf(apis[1])])
  })

  afterAll(async () => {
    await agent.close()
    await proxy[Symbol.asyncDispose]()
    await Promise.all([...apis, ...workers].map((node) => node.stop()))
    await receiver.close()
    await cluster.stop()
    await postgres.stop()
    await rm(folder, { recursive: true })
  })

  const secretFile = async (name: string, text: string): Promise<string> => {
    const file = join(folder, name)
    await writeFile(file, text, { mode: 0o600 })
    return file
  }

  /** Calls the management API through the proxy. */
  const manage = async <T>(method: 'GET' | 'POST' | 'PUT' | 'PATCH', path: string, body?: unknown): Promise<T> => {
    const { statusCode, body: answer } = await request(`${proxy.url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${adminToken}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (statusCode >= 400) throw new Error(`${method} ${path}: ${String(statusCode)} ${text}`)
    return JSON.parse(text) as T
  }

  /** Posts to the ingest API through the proxy; the status. */
  const post = async (path: string, body: unknown): Promise<number> => {
    const { statusCode, body: answer } = await request(`${proxy.url}/v1/${path}`, {
      method: 'POST',
      dispatcher: agent,
      headers: {
        authorization: `Basic ${Buffer.from(`${source.writeKey}:`).toString('base64')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
    })
    await answer.dump()
    return statusCode
  }

  /** What `postrider doctor` finds at a node with the API. */
  const doctor = async (): Promise<{ name: string; state: string; mend?: string }[]> => {
    const args = ['doctor', '--json', '--address', apis[0]?.url ?? '', '--token', adminToken]
    const running = promisify(execFile)(process.execPath, [...commandInTest, ...args], { env: { HOME: folder } })
    const { stdout } = await running.catch((ended: unknown) => ended as { stdout: string })
    return (JSON.parse(stdout) as { checks: { name: string; state: string; mend?: string }[] }).checks
  }

  const arrivedIds = (): Set<string> => new Set(receiver.requests.map(({ body }) => messageIdOf(body)))
  const untilArrived = (ids: readonly string[]): Promise<unknown> =>
    until(
      'all events arrive',
      () => {
        const arrived = arrivedIds()
        return ids.every((id) => arrived.has(id))
      },
      DELIVERY_LIMIT_MS,
    )

  it('a node with the API takes events before anything delivers, and says that nothing does', async () => {
    for (const node of apis)
      await until('it misses the worker alone', async () => {
        const readiness = await readinessOf(node.url)
        return readiness?.status === 200 && readiness.missing?.map(({ part }) => part).join() === 'worker'
      })
    source = await manage<Source>('POST', '/sources', { name: 'Shop' })
    await manage('POST', '/destinations', {
      name: 'Warehouse',
      type: 'webhooks',
      sourceIds: [source.id],
      settings: { webhooks: [{ url: `${receiver.url}/events` }] },
    })
    // The other node knows the source a moment later.
    await until('both nodes take it', async () => {
      const statuses = await Promise.all(apis.map((node) => node.track(source.writeKey, track('early'))))
      return statuses.every((status) => status === 200)
    })
    const { missing } = await manage<{ missing: { part: string; reason: string }[] }>('GET', '/status')
    expect(missing).toMatchObject([{ part: 'worker', reason: 'no node with the role worker asks Temporal for work' }])
    expect(receiver.requests).toEqual([])
    const [workersCheck] = (await doctor()).filter(({ name }) => name === 'workers')
    expect(workersCheck?.state).toBe('problem')
    expect(workersCheck?.mend).toContain('--role worker')
  })

  it('nodes that deliver have health and figures and nothing else, and deliver what waited', async () => {
    workers.push(...(await Promise.all([startRole('worker'), startRole('worker')])))
    await Promise.all([...apis, ...workers].map((node) => node.ready()))
    for (const { url } of workers) {
      const statusOf = async (path: string): Promise<number> => (await fetch(url + path)).status
      expect(await Promise.all(['/healthz', '/readyz', '/metrics'].map(statusOf))).toEqual([200, 200, 200])
      const others = ['/', '/login', '/api/v1/status', '/v1/track', '/openapi.json', '/docs']
      expect(await Promise.all(others.map(statusOf))).toEqual(others.map(() => 404))
    }
    await until('what waited arrives', () => receiver.requests.length > 0, DELIVERY_LIMIT_MS)
  })

  it('an id with %2F goes through the proxy as it is', async () => {
    const messageId = 'order/2024/ä%2F+1'
    expect(await post('track', { ...track('Slashes'), messageId })).toBe(200)
    await untilArrived([messageId])
    const id = `event/${source.id}/${messageId}`
    const found = await until('it is found', () =>
      manage<{ id: string; status: string }>('GET', `/deliveries/${encodeURIComponent(id)}`).catch(() => undefined),
    )
    expect(found.id).toBe(id)
  })

  it('live events come through the proxy as they happen', async () => {
    const { body } = await request(`${proxy.url}/api/v1/sources/${source.id}/live`, {
      headers: { authorization: `Bearer ${adminToken}` },
    })
    let text = ''
    body.on('data', (chunk: Buffer) => (text += chunk.toString()))
    body.on('error', () => undefined)
    await until('the stream is open', () => text.includes(': open'))
    // A stream shows what its own node takes: the proxy hands requests to both in turn.
    await until('an event is shown while the stream is open', async () => {
      expect(await post('track', track('Live'))).toBe(200)
      return text.includes('"Live"')
    })
    body.destroy()
  })

  it('a batch of 500 KB and a membership of many times that go through the proxy', async () => {
    const batch = Array.from({ length: 24 }, (_, index) => ({
      type: 'track',
      ...track('Large', { text: 'x'.repeat(20_000) }),
      messageId: `large-${String(index)}`,
    }))
    expect(Buffer.byteLength(JSON.stringify({ batch }))).toBeGreaterThan(480_000)
    expect(await post('batch', { batch })).toBe(200)
    await untilArrived(batch.map(({ messageId }) => messageId))
    expect(await post('batch', { batch: [...batch, ...batch] })).toBe(413)
    expect(await post('batch', { batch: Array.from({ length: 5 }, () => batch).flat() })).toBe(413)

    const audience = await manage<{ id: string }>('POST', '/audiences', {
      name: 'Everyone',
      destinationIds: [],
      membership: { kind: 'push' },
    })
    const rows = 60_000
    const csv = `userId\n${Array.from({ length: rows }, (_, index) => `user-${String(index)}-${'x'.repeat(30)}\n`).join('')}`
    expect(csv.length).toBeGreaterThan(2_000_000)
    const { statusCode, body } = await request(`${proxy.url}/api/v1/audiences/${audience.id}/members`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'text/csv' },
      body: csv,
    })
    expect([statusCode, await body.text()]).toEqual([202, expect.stringContaining('syncId')])
  })

  it('any node may be killed under load: nothing is lost, and callers see 200, 429 and 503 alone', async () => {
    const statuses = new Map<number, number>()
    const accepted: string[] = []
    let sent = 0
    let isOver = false
    const send = async (): Promise<void> => {
      while (!isOver) {
        const n = String(sent++)
        const messageId = `badger-${n}`
        const event = track('Pelican Ordered', { what: 'flamingo-feathers' })
        const status = await post('track', { ...event, userId: `giraffe-${n}@example.com`, messageId })
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        if (status === 200) accepted.push(messageId)
        await sleep(20)
      }
    }
    const untilMore = (count: number): Promise<unknown> => {
      const before = accepted.length
      return until(`${String(count)} more are accepted`, () => accepted.length >= before + count, DELIVERY_LIMIT_MS)
    }
    const kill = async (nodes: PostriderNode[], index: number): Promise<PostriderNode> => {
      const [node] = nodes.splice(index, 1)
      if (node === undefined) throw new Error('there is no such node')
      process.kill(node.pid, 'SIGKILL')
      await node.exited
      return node
    }
    const senders = Array.from({ length: 6 }, send)
    try {
      await untilMore(100)
      const api = await kill(apis, 0)
      await untilMore(100)
      apis.unshift(await startRole('api', new URL(api.url).port))
      await apis[0]?.ready()
      await untilMore(50)
      await kill(workers, 0)
      await untilMore(100)
      workers.push(await startRole('worker'))
      await kill(apis, 1)
      await untilMore(100)
    } finally {
      isOver = true
      await Promise.all(senders)
    }
    expect([...statuses.keys()].filter((status) => !ALLOWED.includes(status))).toEqual([])
    await untilArrived(accepted)
    expect(accepted.length).toBeGreaterThan(400)
  })

  it("a dump of Temporal's databases has no user, no message id and no value of them", async () => {
    const { host, port, user, password } = postgres
    const program = join(findPostgres() ?? '', 'pg_dump')
    const databases = ['temporal', 'temporal_visibility']
    const dumps = await Promise.all(
      databases.map(async (name) => {
        const file = join(folder, `${name}.sql`)
        const args = ['--host', host, '--port', String(port), '--username', user, '--file', file, name]
        await promisify(execFile)(program, args, { env: { PGPASSWORD: password } })
        return readFile(file)
      }),
    )
    const dump = Buffer.concat(dumps)
    expect(foundIn(dump, ['badger-', 'giraffe-', 'Pelican Ordered', 'flamingo-feathers'])).toEqual([])
    // What it does have is found.
    const known = ['deliverEvent', source.id]
    expect(foundIn(dump, known)).toEqual(known)
  })

  it('answers 503 in the form of a node when none is there', async () => {
    await Promise.all(apis.splice(0).map((node) => node.stop()))
    const { statusCode, headers, body } = await request(`${proxy.url}/v1/track`, { method: 'POST', body: '{}' })
    expect([statusCode, headers['retry-after'], await body.json()]).toEqual([
      503,
      '5',
      expect.objectContaining({ success: false, code: 'unavailable' }),
    ])
  })
})

/** Runs the script of the image's first start. */
async function createUsers(
  postgres: PostgresServer,
  folder: string,
): Promise<{ temporal: string; databaseUrl: string }> {
  const [temporal, postrider] = [randomBytes(12).toString('hex'), randomBytes(12).toString('hex')]
  const files = { TEMPORAL_PASSWORD_FILE: join(folder, 'temporal'), POSTRIDER_PASSWORD_FILE: join(folder, 'postrider') }
  await writeFile(files.TEMPORAL_PASSWORD_FILE, `${temporal}\n`)
  await writeFile(files.POSTRIDER_PASSWORD_FILE, postrider)
  const { host, port, user, password } = postgres
  await promisify(execFile)(resolve(import.meta.dirname, '../../deploy/postgres/create-users.sh'), {
    env: {
      PATH: `${findPostgres() ?? ''}:${process.env['PATH'] ?? ''}`,
      PGHOST: host,
      PGPORT: String(port),
      PGPASSWORD: password,
      POSTGRES_USER: user,
      ...files,
    },
  })
  return { temporal, databaseUrl: `postgres://postrider:${postrider}@${host}:${String(port)}/postrider` }
}

const hostOf = (node: PostriderNode | undefined): string => new URL(node?.url ?? '').host

const track = (event: string, properties: Record<string, unknown> = {}): Record<string, unknown> => ({
  userId: 'u1',
  event,
  properties,
})

const messageIdOf = (body: Buffer): string => (JSON.parse(body.toString()) as { messageId?: string }).messageId ?? ''
