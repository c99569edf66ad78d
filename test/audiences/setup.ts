/** An audience on a whole node: uploads, syncs, and what arrives. */

import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, type TestOptions } from 'vitest'
import type { Audience, Sync } from '../../src/schemas/audience.ts'
import { adminToken, startTestApp, type TestApp } from '../support/app.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import { startReceiver, type ReceivedRequest, type Receiver } from '../support/receiver.ts'

/** A sync of this size on a loaded machine takes seconds; this is only to end a test that hangs. */
const syncLimitMs = 90_000

export type Api = Pick<TestApp, 'url' | 'api'>

const databaseKinds = ['PGlite', 'PostgreSQL'] as const

export type DatabaseKind = (typeof databaseKinds)[number]

/** Whether this machine has a database of that kind. */
const isInstalled = (kind: DatabaseKind): boolean => kind === 'PGlite' || findPostgres() !== undefined

/** A suite for each kind of database; skipped, and counted so, where it is not installed. */
export function describeOnEachDatabase(
  name: string,
  suite: (kind: DatabaseKind) => void,
  options: TestOptions = {},
): void {
  for (const kind of databaseKinds) describe.skipIf(!isInstalled(kind))(`${name} ${kind}`, options, () => suite(kind))
}

/** A node on a database of that kind.
 *  @param server  where a PostgreSQL database is made; one of its own unless given */
async function startNodeOn(databaseKind: DatabaseKind, server?: PostgresServer): Promise<TestApp> {
  if (databaseKind === 'PGlite') return startTestApp()
  const postgres = server ?? (await startPostgres())
  const node = await startTestApp({ environment: { DATABASE_URL: await postgres.createDatabase() } })
  return {
    ...node,
    async [Symbol.asyncDispose]() {
      await node[Symbol.asyncDispose]()
      if (server === undefined) await postgres.stop()
    },
  }
}

/** What tests find: the node is the same for all of a suite, the others are new for each test. */
export interface GivenDestination {
  node: TestApp
  receiver: Receiver
  destinationId: string
}

export interface GivenAudience extends GivenDestination {
  audience: Audience
}

/** A node, and before each test of the suite a receiver that is a destination.
 *  @param server  asked once the suite begins */
export function givenDestination(databaseKind: DatabaseKind, server?: () => PostgresServer): GivenDestination {
  const given = {} as GivenDestination
  beforeAll(async () => {
    given.node = await startNodeOn(databaseKind, server?.())
  })
  afterAll(() => given.node[Symbol.asyncDispose]())
  beforeEach(async ({ onTestFinished }) => {
    const receiver = await startReceiver()
    onTestFinished(() => receiver.close())
    given.receiver = receiver
    given.destinationId = (await given.node.connect([], [receiver.url], { sharedSecret: 'topsecret' })).id
  })
  return given
}

/** The same, with an audience at the destination. */
export function givenAudience(databaseKind: DatabaseKind): GivenAudience {
  const given = givenDestination(databaseKind) as GivenAudience
  beforeEach(async () => {
    given.audience = await createAudience(given.node, [given.destinationId])
  })
  return given
}

export interface AudienceOptions {
  name?: string
  [option: string]: unknown
}

export async function createAudience(node: Api, destinationIds: string[], options: AudienceOptions = {}) {
  const { status, body } = await node.api<Audience>('POST', '/audiences', {
    name: 'VIP customers',
    destinationIds,
    ...options,
  })
  if (status !== 201) throw new Error(`not created: ${status} ${JSON.stringify(body)}`)
  return body
}

export const ndjson = (users: Iterable<string | object>): string =>
  [...users].map((user) => `${JSON.stringify(typeof user === 'string' ? { userId: user } : user)}\n`).join('')

/** Replaces the membership. @returns id of the sync */
export async function upload(
  { url }: Api,
  audience: Pick<Audience, 'id'>,
  users: Iterable<string | object> | string,
  contentType = 'application/x-ndjson',
): Promise<string> {
  const response = await fetch(`${url}/api/v1/audiences/${audience.id}/members`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': contentType },
    body: typeof users === 'string' ? users : ndjson(users),
  })
  const body = (await response.json()) as { syncId: string }
  if (response.status !== 202) throw new Error(`not accepted: ${response.status} ${JSON.stringify(body)}`)
  return body.syncId
}

export async function getSync({ api }: Api, audience: Pick<Audience, 'id'>, syncId: string): Promise<Sync> {
  return (await api<Sync>('GET', `/audiences/${audience.id}/syncs/${syncId}`)).body
}

/** Waits until the sync has ended, whatever its status. */
export async function ended(node: Api, audience: Pick<Audience, 'id'>, syncId: string): Promise<Sync> {
  const deadline = Date.now() + syncLimitMs
  for (;;) {
    const sync = await getSync(node, audience, syncId)
    if (sync.status !== 'running') return sync
    if (Date.now() > deadline) throw new Error(`the sync has not ended: ${JSON.stringify(sync)}`)
    await sleep(50)
  }
}

export async function uploadAndSync(node: Api, audience: Pick<Audience, 'id'>, users: Iterable<string | object>) {
  return ended(node, audience, await upload(node, audience, users))
}

/** A call without a body, or with one. @returns id of the sync that it started */
export async function start(
  { api }: Api,
  audience: Pick<Audience, 'id'>,
  path: string,
  body?: unknown,
): Promise<string> {
  const answer = await api<{ syncId: string }>('POST', `/audiences/${audience.id}/${path}`, body)
  if (answer.status !== 202) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body.syncId
}

export interface Told {
  userId: string
  messageId: string
  traits: Record<string, unknown>
}

export const told = (requests: readonly ReceivedRequest[]): Told[] =>
  requests.map(({ body }) => JSON.parse(body.toString('utf8')) as Told)

/** The same without repeats: an attempt whose answer came too late, as on a machine that stood still, is made again with its
 *  message id. */
export const toldOnce = (requests: readonly ReceivedRequest[]): Told[] => [
  ...new Map(told(requests).map((one) => [one.messageId, one])).values(),
]

/** What the receiver was told of the trait `key`, last, per user. */
export const state = (requests: readonly ReceivedRequest[], key = 'vip_customers'): Record<string, unknown> =>
  Object.fromEntries(told(requests).map(({ userId, traits }) => [userId, traits[key]]))

export const users = (count: number, prefix = 'u'): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${String(index + 1).padStart(4, '0')}`)

export async function until(condition: () => boolean | Promise<boolean>, what: string, withinMs = syncLimitMs) {
  const deadline = Date.now() + withinMs
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`not within ${withinMs} ms: ${what}`)
    await sleep(20)
  }
}
