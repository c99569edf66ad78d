/** A whole node inside a test: real Temporal, a database of its own, a port of its own. */

import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { inject } from 'vitest'
import { startApp, type App, type AppOptions } from '../../src/app.ts'
import { readConfig } from '../../src/config.ts'
import type { DestinationView } from '../../src/schemas/destination.ts'
import type { DifferingOptions } from '../../src/schemas/endpoint-options.ts'
import type { Filter } from '../../src/schemas/filter.ts'
import type { Mapping } from '../../src/schemas/mapping.ts'
import type { Source } from '../../src/schemas/source.ts'
import './quiet-temporal.ts'
import { encryptionKeys } from './sealed-payloads.ts'
import { createNamespace, temporalAddress } from './temporal.ts'

export const adminToken = 'test-admin-token'

export interface TestAppOptions extends Partial<Pick<AppOptions, 'logger' | 'workflowCode' | 'workerLimits'>> {
  /** Settings beside those of `testEnvironment`, or undefined in place of one of them. */
  environment?: Record<string, string | undefined>
  /** A namespace that exists; a fresh one unless given. */
  namespace?: string
  /** A data folder that exists and stays; a fresh one unless given. */
  dataDir?: string
}

export interface TestApp extends AsyncDisposable {
  app: App
  url: string
  namespace: string
  dataDir: string
  /** Calls the management API below `/api/v1`. */
  api<Answer = unknown>(method: string, path: string, body?: unknown): Promise<{ status: number; body: Answer }>
  /** Posts to the ingest API below `/v1`, as the source of `writeKey`. */
  post(path: string, writeKey: string, body: unknown): Promise<{ status: number; body: Record<string, unknown> }>
  createSource(name?: string): Promise<Source>
  /** A destination of `sources` that leads to `urls`. */
  connect(sources: Source[], urls: string[], more?: Partial<DestinationInput>): Promise<DestinationView>
}

interface DestinationInput {
  name: string
  enabled: boolean
  filter: Filter
  mapping: Mapping
  successPolicy: 'any' | 'all'
  sharedSecret: string
  headers: Record<string, string>
  /** Of each endpoint. */
  options: DifferingOptions
}

/** Settings of a node in a test: quick retries, receivers on loopback. */
export const testEnvironment = (namespace: string, dataDir: string): Record<string, string> => ({
  PORT: '0',
  POSTRIDER_DATA_DIR: dataDir,
  TEMPORAL_ADDRESS: temporalAddress(),
  TEMPORAL_NAMESPACE: namespace,
  POSTRIDER_ADMIN_TOKEN: adminToken,
  POSTRIDER_ENCRYPTION_KEYS: encryptionKeys,
  POSTRIDER_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128',
  POSTRIDER_RETRY_INITIAL: '200ms',
  POSTRIDER_RETRY_MAX: '1s',
  POSTRIDER_RETRY_WINDOW: '60s',
})

/** A data folder with a database that is made already: making one takes seconds and much memory. */
export async function makeDataFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-test-'))
  await cp(inject('databaseTemplate'), join(folder, 'pglite'), { recursive: true })
  return folder
}

export async function startTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const {
    namespace = await createNamespace(),
    dataDir = await makeDataFolder(),
    environment: settings,
    ...parts
  } = options
  const environment = { ...testEnvironment(namespace, dataDir), ...settings }
  const app = await startApp(readConfig(environment), {
    logger: pino({ level: 'error' }),
    environment,
    onProgress: () => {},
    onReceived: () => {},
    signal: new AbortController().signal,
    workflowCode: { workflowBundle: { codePath: inject('workflowBundle') } },
    ...parts,
  })
  return {
    app,
    namespace,
    dataDir,
    ...apiOf(app.url),
    async [Symbol.asyncDispose]() {
      await app.stop()
      if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** Calls to a node at `url`, whichever process it runs in. */
export function apiOf(
  url: string,
  token = adminToken,
): Pick<TestApp, 'url' | 'api' | 'post' | 'createSource' | 'connect'> {
  const api: TestApp['api'] = async <Answer>(method: string, path: string, body?: unknown) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as Answer }
  }
  return {
    url,
    api,
    async post(path, writeKey, body) {
      const response = await fetch(`${url}/v1${path}`, {
        method: 'POST',
        headers: {
          authorization: `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify(body),
      })
      return { status: response.status, body: (await response.json()) as Record<string, unknown> }
    },
    async createSource(name = 'Test source') {
      return expectCreated(await api<Source>('POST', '/sources', { name }))
    },
    async connect(sources, urls, more = {}) {
      const { name = 'Test destination', enabled = true, successPolicy = 'any', filter, mapping } = more
      const { sharedSecret, headers, options } = more
      const answer = await api<DestinationView>('POST', '/destinations', {
        name,
        type: 'webhooks',
        enabled,
        successPolicy,
        filter,
        mapping,
        sourceIds: sources.map(({ id }) => id),
        settings: { sharedSecret, webhooks: urls.map((target) => ({ url: target, headers, ...options })) },
      })
      return expectCreated(answer)
    },
  }
}

function expectCreated<Answer>({ status, body }: { status: number; body: Answer }): Answer {
  if (status !== 201) throw new Error(`not created: ${status} ${JSON.stringify(body)}`)
  return body
}
