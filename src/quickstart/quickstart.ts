/** The first minute: a source, a destination and a receiver that are there without any set-up. */

import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { databaseIn, type Database } from '../db/database.ts'
import type { DestinationStore } from '../db/destinations.ts'
import { readFact, writeFact } from '../db/installation.ts'
import { onceThere } from '../db/once-there.ts'
import { createSource } from '../db/sources.ts'
import type { AddressGuard } from '../delivery/guard-address.ts'
import { StartError } from '../errors.ts'
import { secretsInForce } from '../delivery/post-message.ts'
import { startReceiver, type ReceivedEvent, type Receiver } from '../receiver/receiver.ts'
import type { Settings } from '../settings/settings.ts'

const FactSchema = z.object({
  sourceId: z.string(),
  destinationId: z.string(),
  endpointId: z.string(),
  port: z.number(),
})
type Fact = z.infer<typeof FactSchema>

const factName = 'quickstart'

export interface Quickstart {
  writeKey: string
  receiver: Receiver
}

export interface QuickstartDependencies {
  database: Database
  destinationsIn: (database: Database) => DestinationStore
  settings: Settings
  guard: AddressGuard
  /** The configured port of the receiver; absent: the one it had before, or a free one where that is taken. */
  port: number | undefined
  onReceived: (event: ReceivedEvent) => void
  /** Ends the start. */
  signal: AbortSignal
}

const receiverUrl = (port: number): string => `http://127.0.0.1:${port}/`

/** Starts the receiver; on the first start of an empty installation makes the source and the destination that leads to it. A database
 *  that is away is waited for.
 *  @returns undefined when deliveries may not reach it, or its source or destination was deleted
 *  @throws StartError when the configured port cannot be had; the signal's reason */
export const startQuickstart = (dependencies: QuickstartDependencies): Promise<Quickstart | undefined> =>
  onceThere(() => startOnce(dependencies), dependencies)

async function startOnce(dependencies: QuickstartDependencies): Promise<Quickstart | undefined> {
  const { database, settings, guard, port, onReceived } = dependencies
  if (port === 0 || guard.refuseUrl(receiverUrl(80)) !== undefined) return undefined
  const fact = await readQuickstart(database)
  if (fact === undefined && [...settings.sources()].length > 0) return undefined
  if (fact !== undefined && !isThere(settings, fact)) return undefined

  let destinationId = fact?.destinationId
  const currentSecrets = (): string[] => {
    const destination = destinationId === undefined ? undefined : settings.destination(destinationId)
    return secretsInForce(destination?.secrets ?? [], new Date())
  }
  const listen = (at: number): Promise<Receiver> =>
    startReceiver({ host: '127.0.0.1', port: at, secrets: currentSecrets, onEvent: onReceived })
  // What the system refuses is told as such: it would be taken for a database that is away.
  const receiver = await (port === undefined ? listen(fact?.port ?? 0).catch(() => listen(0)) : listen(port)).catch(
    refuse(port ?? 0),
  )
  const writing = fact === undefined ? create(dependencies, receiver.port) : follow(dependencies, fact, receiver.port)
  const current = await writing.catch(async (error: unknown) => {
    await receiver.stop()
    throw error
  })
  destinationId = current.destinationId
  const source = settings.source(current.sourceId)
  if (source !== undefined) return { writeKey: source.writeKey, receiver }
  await receiver.stop()
  return undefined
}

const refuse = (port: number) => (error: unknown) => {
  const { code = 'unknown error' } = error as NodeJS.ErrnoException
  const why = code === 'EADDRINUSE' ? 'is in use' : `cannot be listened at (${code})`
  throw new StartError(`POSTRIDER_QUICKSTART_PORT: port ${port} on 127.0.0.1 ${why}; set another one, or 0 for none`, {
    cause: error,
  })
}

async function readQuickstart(database: Database): Promise<Fact | undefined> {
  const value = await readFact(database, factName)
  return value === undefined ? undefined : FactSchema.parse(JSON.parse(value))
}

const isThere = (settings: Settings, { sourceId, destinationId, endpointId }: Fact): boolean =>
  settings.source(sourceId) !== undefined &&
  settings.destination(destinationId)?.settings.webhooks.some(({ id }) => id === endpointId) === true

/** All or nothing: a start that is cut off in the middle leaves the next one an empty installation. */
async function create({ database, destinationsIn, settings }: QuickstartDependencies, port: number): Promise<Fact> {
  const fact = await database.transaction((tx) => createIn(databaseIn(tx), destinationsIn, port))
  await settings.refresh()
  return fact
}

async function createIn(
  database: Database,
  destinationsIn: QuickstartDependencies['destinationsIn'],
  port: number,
): Promise<Fact> {
  const source = await createSource(database, { name: 'Quickstart' })
  const destination = await destinationsIn(database).create({
    name: 'Quickstart receiver',
    type: 'webhooks',
    enabled: true,
    successPolicy: 'any',
    sourceIds: [source.id],
    settings: { sharedSecret: randomBytes(24).toString('base64url'), webhooks: [{ url: receiverUrl(port) }] },
  })
  const endpointId = destination.settings.webhooks[0]?.id ?? ''
  const fact = { sourceId: source.id, destinationId: destination.id, endpointId, port }
  await writeFact(database, factName, JSON.stringify(fact))
  return fact
}

/** The receiver could not have its former port: its endpoint follows it. */
async function follow(
  { database, destinationsIn, settings }: QuickstartDependencies,
  fact: Fact,
  port: number,
): Promise<Fact> {
  if (fact.port === port) return fact
  const destinations = destinationsIn(database)
  const { settings: before } = await destinations.get(fact.destinationId)
  const webhooks = before.webhooks.map((webhook) =>
    webhook.id === fact.endpointId && webhook.url === receiverUrl(fact.port)
      ? { ...webhook, url: receiverUrl(port) }
      : webhook,
  )
  await destinations.update(fact.destinationId, { settings: { webhooks } })
  await writeFact(database, factName, JSON.stringify({ ...fact, port }))
  await settings.refresh()
  return { ...fact, port }
}
