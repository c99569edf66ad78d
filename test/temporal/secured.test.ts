/** A Temporal that asks who connects, as Temporal Cloud does: by certificate, by API key, or by both, named by variables or by a profile. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { StartError } from '../../src/errors.ts'
import { connectTemporal, externalTemporal } from '../../src/temporal/connect.ts'
import { createConnectableTemporal } from '../../src/temporal/connection.ts'
import { startTestApp } from '../support/app.ts'
import { createCertificates } from '../support/certificates.ts'
import { startGrpcProxy, type GrpcProxy } from '../support/grpc-proxy.ts'
import '../support/quiet-temporal.ts'
import { startReceiver } from '../support/receiver.ts'
import { testPayloads } from '../support/sealed-payloads.ts'
import { createNamespace, temporalAddress } from '../support/temporal.ts'
import { temporalProfiles } from '../support/temporal-profile.ts'
import { until } from '../support/wait.ts'

const timeout = 120_000
const limitMs = 60_000
const apiKey = 'key-of-this-node'

let folder: string
let namespace: string
let files: { authority: string; cert: string; key: string }
let byCertificate: GrpcProxy
let byKey: GrpcProxy
let byBoth: GrpcProxy
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postrider-secured-'))
  namespace = await createNamespace()
  const { authority, valid } = await createCertificates()
  files = {
    authority: await file('authority.pem', authority),
    cert: await file('client.pem', valid.cert),
    key: await file('client.key', valid.key),
  }
  byCertificate = await startGrpcProxy(temporalAddress(), { tls: valid, clientAuthority: authority })
  byKey = await startGrpcProxy(temporalAddress(), { tls: valid, apiKey })
  byBoth = await startGrpcProxy(temporalAddress(), { tls: valid, clientAuthority: authority, apiKey })
})
afterAll(async () => {
  for (const proxy of [byCertificate, byKey, byBoth]) await proxy?.[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

async function file(name: string, content: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, content, { mode: 0o600 })
  return path
}

/** A node with these settings delivers an event, and shows it in its list. */
async function delivers(environment: Record<string, string | undefined>): Promise<void> {
  await using receiver = await startReceiver()
  await using node = await startTestApp({ namespace, environment })
  const source = await node.createSource()
  await node.connect([source], [receiver.url])
  expect((await node.post('/track', source.writeKey, { userId: 'u1', event: 'Guarded' })).status).toBe(200)
  await receiver.received(1)
  await until('the list has it', async () => {
    const { body } = await node.api<{ items: unknown[] }>('GET', `/deliveries?status=delivered&sourceId=${source.id}`)
    return body.items.length === 1
  })
}

describe('a node', { timeout }, () => {
  it('shows a certificate: mutual TLS', () =>
    delivers({
      TEMPORAL_ADDRESS: byCertificate.address,
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: files.authority,
      TEMPORAL_TLS_CLIENT_CERT_PATH: files.cert,
      TEMPORAL_TLS_CLIENT_KEY_PATH: files.key,
    }))

  it('sends an API key from a file, over TLS', async () =>
    delivers({
      TEMPORAL_ADDRESS: byKey.address,
      TEMPORAL_API_KEY_FILE: await file('api-key', `${apiKey}\n`),
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: files.authority,
    }))

  it('reads a profile that has both', async () => {
    const profiles = temporalProfiles({ address: byBoth.address, namespace, apiKey, tls: files })
    await delivers({
      TEMPORAL_ADDRESS: undefined,
      TEMPORAL_NAMESPACE: undefined,
      TEMPORAL_CONFIG_FILE: await file('temporal.toml', profiles),
      TEMPORAL_PROFILE: 'guarded',
    })
  })
})

describe('a node that is not let in', { timeout }, () => {
  const settings = (proxy: GrpcProxy, more: Record<string, string> = {}) => ({
    TEMPORAL_ADDRESS: proxy.address,
    TEMPORAL_NAMESPACE: namespace,
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: files.authority,
    ...more,
  })
  /** Connects until `signal` ends it. */
  const connect = (environment: Record<string, string>, signal = new AbortController().signal) => {
    const { options, namespace } = externalTemporal(environment)
    const address = options.address ?? ''
    const temporal = createConnectableTemporal({ namespace, address, uiUrl: undefined, payloads: testPayloads })
    return { temporal, connecting: connectTemporal(temporal, options, 86_400_000, signal) }
  }

  it.each([
    ['no key', {}],
    ['another key', { TEMPORAL_API_KEY: 'key-of-another' }],
  ])('ends with one line that names the address: %s', async (_, more) => {
    const refused: unknown = await connect(settings(byKey, more)).connecting.catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(StartError)
    const { message } = refused as StartError
    expect(message).toContain(`Temporal at ${byKey.address} cannot be used: `)
    expect(message).toContain('Request unauthorized.')
    expect(message).not.toContain('\n')
    expect(message).not.toContain('key-of-another')
  })

  it.each([
    ['it shows none', () => ({}), /CertificateRequired/],
    [
      'the server has one of another authority',
      () => ({ TEMPORAL_TLS_SERVER_CA_CERT_PATH: files.cert }),
      /certificate/i,
    ],
  ])('waits for another certificate, and says why: %s', async (_, more, reason) => {
    const end = new AbortController()
    const { temporal, connecting } = connect(settings(byCertificate, more()), end.signal)
    const ended = connecting.catch((error: unknown) => error)
    try {
      // The connection may break before the reason is read: the next try has it.
      await until('it says why', () => temporal.failure !== undefined && reason.test(temporal.failure), limitMs)
    } finally {
      end.abort()
    }
    expect(await ended).toMatchObject({ name: 'AbortError' })
  })

  it.each<[string, () => Record<string, string>, RegExp]>([
    ['a profile that is not there', () => ({ TEMPORAL_PROFILE: 'absent' }), /'absent' not found/],
    [
      'a file that is not there',
      () => ({ TEMPORAL_TLS_SERVER_CA_CERT_PATH: '/nowhere/authority.pem' }),
      /\/nowhere\/authority\.pem/,
    ],
    ['a certificate without its key', () => ({ TEMPORAL_TLS_CLIENT_CERT_PATH: files.cert }), /without its private key/],
    ['a key without its certificate', () => ({ TEMPORAL_TLS_CLIENT_KEY_PATH: files.key }), /without its certificate/],
  ])('ends with one line for %s', (_, more, reason) => {
    const start = () => externalTemporal(settings(byCertificate, more()))
    expect(start).toThrow(StartError)
    expect(start).toThrow(reason)
  })
})
