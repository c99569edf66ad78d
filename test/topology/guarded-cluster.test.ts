/** A full Temporal server that asks who calls, by itself: for a certificate of every client (mutual TLS), and for an API key that says what its
 *  holder may do in which namespace. */
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey } from 'jose'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { searchAttributes } from '../../src/contracts/names.ts'
import { createCertificates } from '../support/certificates.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import '../support/quiet-temporal.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { encryptionKeys } from '../support/sealed-payloads.ts'
import { startTemporalCluster, type TemporalCluster } from '../support/temporal-cluster.ts'
import { temporalProfiles } from '../support/temporal-profile.ts'
import { runToldCommand } from '../support/told-command.ts'
import { until } from '../support/wait.ts'
import { startNode, type PostriderNode } from './postrider-node.ts'

const LIMIT_MS = 90_000

describe.skipIf(findPostgres() === undefined)('a full Temporal server that asks who calls', () => {
  let folder: string
  let postgres: PostgresServer
  let cluster: TemporalCluster
  let signing: CryptoKey
  let webKeys: Server
  /** In PEM: of whoever is let in, and of the server. */
  let files: { authority: string; cert: string; key: string }
  /** Settings of TLS of whoever is let in. */
  let certificate: Record<string, string>

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'postrider-guarded-'))
    const { authority, valid } = await createCertificates()
    files = {
      authority: await file('authority.pem', authority),
      cert: await file('cert.pem', valid.cert),
      key: await file('key.pem', valid.key),
    }
    certificate = {
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: files.authority,
      TEMPORAL_TLS_CLIENT_CERT_PATH: files.cert,
      TEMPORAL_TLS_CLIENT_KEY_PATH: files.key,
    }
    const { privateKey, publicKey } = await generateKeyPair('ES256')
    signing = privateKey
    const published = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'test', alg: 'ES256' }] })
    webKeys = createServer((_, response) => response.end(published)).listen(0, '127.0.0.1')
    await once(webKeys, 'listening')
    postgres = await startPostgres()
    cluster = await startTemporalCluster({
      postgres,
      binaries: inject('temporalBinaries'),
      cli: inject('temporalCli'),
      access: {
        tls: { cert: files.cert, key: files.key, clientAuthority: files.authority },
        webKeys: `http://127.0.0.1:${String((webKeys.address() as AddressInfo).port)}`,
        administrator: { ...certificate, TEMPORAL_API_KEY: await apiKey(['temporal-system:admin']) },
      },
    })
  })
  afterAll(async () => {
    await cluster?.stop()
    await postgres?.stop()
    webKeys?.close()
    await rm(folder, { recursive: true, force: true })
  })

  async function file(name: string, content: string): Promise<string> {
    const path = join(folder, name)
    await writeFile(path, content, { mode: 0o600 })
    return path
  }

  /** @param permissions  as `<namespace>:<role>` */
  const apiKey = (permissions: string[], { key = signing, expires = '1h' } = {}): Promise<string> =>
    new SignJWT({ permissions })
      .setProtectedHeader({ alg: 'ES256', kid: 'test' })
      .setSubject('test')
      .setExpirationTime(expires)
      .sign(key)

  /** A node that starts with these settings of Temporal. */
  async function start(settings: Record<string, string>): Promise<PostriderNode> {
    const node = await startNode(
      {
        DATABASE_URL: settings['DATABASE_URL'] ?? (await postgres.createDatabase()),
        POSTRIDER_ENCRYPTION_KEYS: encryptionKeys,
        POSTRIDER_ALLOWED_NETWORKS: '127.0.0.0/8',
        TEMPORAL_ADDRESS: cluster.address,
        ...settings,
      },
      randomBytes(16).toString('hex'),
    )
    onTestFinished(() => node.stop())
    return node
  }

  async function connect(node: PostriderNode, receiver: Receiver): Promise<string> {
    await node.ready()
    const { id, writeKey } = await node.manage<{ id: string; writeKey: string }>('POST', '/sources', { name: 'Shop' })
    const destination = {
      name: 'Hook',
      type: 'webhooks',
      sourceIds: [id],
      settings: { webhooks: [{ url: receiver.url }] },
    }
    await node.manage('POST', '/destinations', destination)
    return writeKey
  }

  async function delivers(node: PostriderNode): Promise<void> {
    await using receiver = await startReceiver()
    const writeKey = await connect(node, receiver)
    expect(await node.track(writeKey, { userId: 'u1', event: 'Guarded' })).toBe(200)
    await receiver.received(1)
    await until('the list has it', async () => {
      const { items } = await node.manage<{ items: unknown[] }>('GET', '/deliveries?status=delivered')
      return items.length === 1
    })
  }

  /** What a node says that does not start. */
  async function refusal(settings: Record<string, string>): Promise<string> {
    const node = await start(settings)
    const said = await node.ready().then(
      () => 'ready',
      (error: unknown) => (error as Error).message,
    )
    expect(said).not.toBe('ready')
    expect(await node.exited).toBe(1)
    return said
  }

  /** Runs what a refusal says, as the operator of that Temporal would. */
  const runAsAdministrator = async (refusal: string): Promise<void> =>
    runToldCommand(refusal, {
      TEMPORAL_ADDRESS: cluster.address,
      TEMPORAL_API_KEY: await apiKey(['temporal-system:admin']),
      ...certificate,
    })

  it('has its namespace and search attributes made by a node whose API key allows that', async () => {
    const TEMPORAL_API_KEY_FILE = await file('administrator', await apiKey(['temporal-system:admin']))
    const node = await start({ ...certificate, TEMPORAL_API_KEY_FILE, TEMPORAL_NAMESPACE: `made-${randomUUID()}` })
    await delivers(node)
  })

  it('is used with a key for one namespace, by a profile, once its operator ran what the start says', async () => {
    const namespace = `ordered-${randomUUID()}`
    const profiles = temporalProfiles({
      address: cluster.address,
      namespace,
      apiKey: await apiKey([`${namespace}:write`, `${namespace}:worker`]),
      tls: files,
    })
    const TEMPORAL_CONFIG_FILE = await file('temporal.toml', profiles)
    const settings = { TEMPORAL_CONFIG_FILE, TEMPORAL_PROFILE: 'guarded' }

    const noNamespace = await refusal(settings)
    expect(noNamespace).toMatch(
      `Temporal has no namespace "${namespace}" and does not let Postrider make it (Request unauthorized.); run: ` +
        `temporal operator namespace create --namespace '${namespace}' --retention 259200s`,
    )
    await runAsAdministrator(noNamespace)

    const noAttributes = await until(
      'the attributes are missed',
      async () => {
        const said = await refusal(settings)
        return said.includes('lacks search attributes') && said
      },
      LIMIT_MS,
    )
    for (const [name, type] of Object.entries(searchAttributes))
      expect(noAttributes).toContain(`--name ${name} --type ${type === 'DATETIME' ? 'Datetime' : 'Keyword'}`)
    await runAsAdministrator(noAttributes)
    await delivers(await start(settings))
  })

  it.each<[string, () => Promise<string>, string]>([
    ['none', async () => '', 'Request unauthorized.'],
    [
      'one that another has signed',
      async () => apiKey(['default:admin'], { key: (await generateKeyPair('ES256')).privateKey }),
      'Request unauthorized.',
    ],
    ['one for another namespace', () => apiKey(['another:admin']), 'Request unauthorized.'],
    [
      'one that may only read',
      () => apiKey(['default:read']),
      'give its API key or certificate the permission to write there',
    ],
  ])('ends the start with one line for an API key that does not do: %s', async (_, key, reason) => {
    const administrator = await start({ ...certificate, TEMPORAL_API_KEY: await apiKey(['temporal-system:admin']) })
    await administrator.ready()
    const said = await refusal({ ...certificate, TEMPORAL_API_KEY: await key() })
    const lines = said.split('\n').filter((line) => line.startsWith('postrider: '))
    expect(lines).toEqual([expect.stringContaining(reason)])
  })

  it('may end the API key of a node: events are taken, and delivered with the next key', async () => {
    await using receiver = await startReceiver()
    const TEMPORAL_NAMESPACE = `renewed-${randomUUID()}`
    const DATABASE_URL = await postgres.createDatabase()
    const startWith = async (expires: string): Promise<PostriderNode> => {
      const TEMPORAL_API_KEY = await apiKey(['temporal-system:admin'], { expires })
      return start({ ...certificate, TEMPORAL_API_KEY, TEMPORAL_NAMESPACE, DATABASE_URL })
    }
    const node = await startWith('25s')
    const writeKey = await connect(node, receiver)
    await until(
      'it says that Temporal refuses it',
      async () => {
        const answer = await fetch(`${node.url}/readyz`)
        const { missing } = (await answer.json()) as { missing: { part: string; reason: string }[] }
        return missing.some(({ part, reason }) => part === 'temporal' && reason === 'Request unauthorized.')
      },
      LIMIT_MS,
    )
    expect(await node.track(writeKey, { userId: 'u1', event: 'Guarded', messageId: 'm1' })).toBe(200)
    expect(receiver.requests).toEqual([])
    await node.stop()
    await startWith('1h')
    const [request] = await receiver.received(1)
    expect(JSON.parse(String(request?.body))).toMatchObject({ messageId: 'm1' })
  })

  it('lets a node without a certificate wait, which says why', async () => {
    const node = await start({
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: files.authority,
      TEMPORAL_API_KEY: await apiKey(['temporal-system:admin']),
    })
    await until(
      'it says why',
      async () => {
        const answer = await fetch(`${node.url}/readyz`).then(
          (response) => response.text(),
          () => '',
        )
        return answer.includes('CertificateRequired')
      },
      LIMIT_MS,
    )
    expect(node.isRunning()).toBe(true)
  })
})
