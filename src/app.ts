/** The composition root: makes every part of a node from its settings, and stops them in the right order. */

import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { Registry } from 'prom-client'
import { createDeliveryActivities, createSteeringActivities } from '../activities/index.ts'
import { sessionKeys } from './access/session.ts'
import { createAudienceParts } from './audience-parts.ts'
import type { Config } from './config.ts'
import type { DeliverEventInput } from './contracts/delivery.ts'
import { openDataFolder } from './data-folder.ts'
import type { Database } from './db/database.ts'
import { createDestinationStore } from './db/destinations.ts'
import { migrate } from './db/migrate.ts'
import { openPglite } from './db/pglite.ts'
import { openPostgres } from './db/postgres.ts'
import { createTokenStore } from './db/tokens.ts'
import { createDeletionParts } from './deletion-parts.ts'
import { createDeliveryLog } from './deliveries/delivery-log.ts'
import { createAddressGuard } from './delivery/guard-address.ts'
import { createSender } from './delivery/send.ts'
import { createTurns } from './delivery/turns.ts'
import { StartError } from './errors.ts'
import { buildServer } from './http/server.ts'
import { createDirectSlots } from './intake/direct-slots.ts'
import { runDrainer } from './intake/drainer.ts'
import { createFates } from './intake/fates.ts'
import { createInboxWriter } from './intake/inbox-writer.ts'
import { createIngestPort } from './intake/ingest-port.ts'
import { createIntake } from './intake/intake.ts'
import { installationSecrets } from './installation.ts'
import { createLiveEvents } from './live/live-events.ts'
import type { Logger } from './logger.ts'
import { createAttemptRecorder } from './observation/attempts.ts'
import { startQuickstart, type Quickstart } from './quickstart/quickstart.ts'
import { createSecretBox } from './secrets.ts'
import { deliveryTarget } from './settings/delivery-target.ts'
import { watchSettings } from './settings/settings.ts'
import { statusReader } from './status.ts'
import { createBulkSteerings } from './temporal/bulk-steering.ts'
import { findTemporalCli } from './temporal/cli-binary.ts'
import { connectTemporal, externalTemporal, type Temporal } from './temporal/connection.ts'
import { createDeliveries } from './temporal/deliveries.ts'
import { startEmbeddedServer } from './temporal/embedded-server.ts'
import { oldestFirst } from './temporal/oldest-first.ts'
import { createSteering } from './temporal/steering.ts'
import { startDelivery } from './temporal/start-delivery.ts'
import { ensureSearchAttributes } from './temporal/search-attributes.ts'
import { runWorker } from './temporal/worker.ts'

/** Attempts in flight to one endpoint; more first attempts would take the slots that other endpoints need. */
const firstAttemptsPerEndpoint = 8
const retriesPerEndpoint = 32

/** How long a look at Temporal's health may take, in milliseconds. */
const readyLimitMs = 2_000

export interface AppOptions {
  logger: Logger
  /** Environment for the parts that read a standard of their own (Temporal's connection, proxies). */
  environment: NodeJS.ProcessEnv
  /** Takes one line at a time about what a long start is doing. */
  onProgress: (line: string) => void
  /** Takes one line per delivery that the Quickstart receiver gets. */
  onReceived: (line: string) => void
  /** Ends a start that is under way. */
  signal: AbortSignal
}

export interface App {
  url: string
  adminToken: string
  temporal: Temporal
  temporalUiUrl: string | undefined
  quickstart: Quickstart | undefined
  /** Takes no more events, lets what runs finish within a bound, and leaves nothing behind. */
  stop(): Promise<void>
}

/** Starts a node.
 *  @throws StartError with one line for the operator; what was started before is stopped again */
export async function startApp(config: Config, options: AppOptions): Promise<App> {
  const cleanUps: (() => Promise<unknown>)[] = []
  const stop = async (): Promise<void> => {
    for (const cleanUp of cleanUps.splice(0).reverse()) {
      await cleanUp().catch((error: Error) => options.logger.error({ error: error.message }, 'stop.failed'))
    }
  }
  try {
    const parts = await startParts(config, options, cleanUps)
    return { ...parts, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startParts(
  config: Config,
  options: AppOptions,
  cleanUps: (() => Promise<unknown>)[],
): Promise<Omit<App, 'stop'>> {
  const { logger } = options
  const folder = await openDataFolder(config.dataDir)
  cleanUps.push(() => folder.close())
  const { adminToken, encryptionKeys } = await installationSecrets(config, folder.path)

  const [{ temporal, temporalUiUrl }, database] = await settleBoth(
    openTemporal(config, folder.path, options, cleanUps),
    openDatabase(config, folder.path, options, cleanUps),
  )
  const secrets = createSecretBox(encryptionKeys)
  const destinations = createDestinationStore(database, secrets)
  const settings = await watchSettings(database, destinations, logger)
  cleanUps.push(async () => settings.close())

  const guard = createAddressGuard(config.allowedNetworks)
  const sender = createSender({ allowedNetworks: config.allowedNetworks, proxy: proxySettings(options.environment) })
  cleanUps.push(() => sender.close())
  const isPaused = (id: string): boolean => settings.destination(id)?.paused === true
  const pausedDestinations = (): string[] =>
    [...settings.destinations()].filter(({ paused }) => paused).map(({ id }) => id)
  const findTarget = (id: string) => {
    const destination = settings.destination(id)
    return destination && deliveryTarget(destination)
  }
  const steering = createSteering({ temporal, findTarget, retry: config.retry })
  const attemptRecorder = createAttemptRecorder(database, logger)
  cleanUps.push(() => attemptRecorder.stop())
  const deliveryActivities = createDeliveryActivities({
    findDestination: settings.destination,
    catchUp: settings.catchUp,
    sender,
    firstTurns: createTurns({ perEndpoint: firstAttemptsPerEndpoint }),
    retryTurns: createTurns({ perEndpoint: retriesPerEndpoint }),
    observe: attemptRecorder.observe,
    logger,
  })
  const steeringActivities = createSteeringActivities({
    steering,
    oldestFirst: (...range) => oldestFirst(temporal, ...range),
    retentionMs: config.retentionMs,
  })
  const registry = new Registry()
  const audienceParts = createAudienceParts({
    database,
    secrets,
    settings,
    guard,
    sender,
    temporal,
    retry: config.retry,
    registry,
    logger,
  })
  const deletions = await createDeletionParts({ database, settings, temporal, steering, retry: config.retry, logger })
  cleanUps.push(() => deletions.stop())
  const activities = {
    ...deliveryActivities,
    ...steeringActivities,
    ...audienceParts.activities,
    ...deletions.activities,
  }
  const worker = await runWorker(temporal, activities, logger)
  cleanUps.push(() => worker.stop())

  const fates = createFates(database, registry, logger)
  cleanUps.push(() => fates.stop())
  const start = (input: DeliverEventInput) => startDelivery(temporal, input)
  const drainer = runDrainer({ database, start, count: fates.count, logger })
  cleanUps.push(() => drainer.stop())
  const inbox = createInboxWriter(database, config.inboxMax, drainer.wake)
  const slots = createDirectSlots()
  const intake = createIntake({ start, inbox, slots, retry: config.retry, count: fates.count, logger })
  const liveEvents = createLiveEvents()
  const shownUiUrl = config.temporalUiUrl ?? temporalUiUrl
  const server = await buildServer({
    adminToken,
    sessionKeys: sessionKeys(encryptionKeys, adminToken),
    tokens: createTokenStore(database, logger),
    liveEvents,
    readStatus: statusReader({ config, database, temporal, temporalUiUrl: shownUiUrl }),
    database,
    destinations,
    settings,
    guard,
    sender,
    temporal,
    audiences: audienceParts.audiences,
    pullGuard: audienceParts.pullGuard,
    deletionRequests: deletions.deletionRequests,
    steering,
    bulkSteerings: createBulkSteerings(temporal, pausedDestinations),
    deliveryLog: createDeliveryLog({
      database,
      temporal,
      deliveries: createDeliveries(temporal, pausedDestinations),
      isPaused,
      temporalUiUrl: shownUiUrl,
    }),
    ingest: createIngestPort(settings, intake, fates, liveEvents.sink, deletions.suppression),
    lenientAuth: config.lenientAuth,
    logger,
    registry,
    notReadyReason: () => notReadyReason(database, temporal),
  })
  const url = await listen(server, config)
  cleanUps.push(() => server.close())

  const quickstart =
    config.temporal.kind === 'embedded'
      ? await startQuickstart({
          database,
          destinations,
          settings,
          guard,
          port: config.quickstartPort,
          print: options.onReceived,
        })
      : undefined
  if (quickstart !== undefined) cleanUps.unshift(() => quickstart.receiver.stop())
  return { url, adminToken, temporal, temporalUiUrl: shownUiUrl, quickstart }
}

/** A node can accept as long as the database or Temporal can hold an event. */
async function notReadyReason(database: Database, { connection }: Temporal): Promise<string | undefined> {
  const answers = await Promise.allSettled([
    database.query('select 1'),
    connection.withDeadline(Date.now() + readyLimitMs, () => connection.workflowService.getSystemInfo({})),
  ])
  if (answers.some(({ status }) => status === 'fulfilled')) return undefined
  return 'neither Temporal nor the database answers'
}

/** Waits for both even when one fails, so that each has registered its clean-up. */
async function settleBoth<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([first, second])
  return [await first, await second]
}

async function openTemporal(
  config: Config,
  dataDir: string,
  { logger, environment, onProgress, signal }: AppOptions,
  cleanUps: (() => Promise<unknown>)[],
): Promise<{ temporal: Temporal; temporalUiUrl?: string }> {
  if (config.temporal.kind === 'external') {
    const { connection, namespace } = externalTemporal(environment)
    const temporal = await connectTemporal(connection, namespace, logger)
    cleanUps.push(() => temporal.connection.close())
    await ensureSearchAttributes(temporal)
    return { temporal }
  }
  const cli = await findTemporalCli({ env: environment, onProgress, signal })
  const { port, uiPort } = config.temporal
  const { retentionMs } = config
  const embedded = await startEmbeddedServer({ cli, dataDir, port, uiPort, retentionMs, signal, onProgress })
  cleanUps.push(() => embedded.stop())
  const temporal = await connectTemporal({ address: embedded.address }, 'default', logger)
  cleanUps.push(() => temporal.connection.close())
  await ensureSearchAttributes(temporal)
  return { temporal, temporalUiUrl: embedded.uiUrl }
}

async function openDatabase(
  config: Config,
  dataDir: string,
  { logger, onProgress }: AppOptions,
  cleanUps: (() => Promise<unknown>)[],
): Promise<Database> {
  if (config.databaseUrl === undefined) onProgress('Opening the embedded database')
  const database =
    config.databaseUrl === undefined
      ? await openPglite(`${dataDir}/pglite`, logger)
      : openPostgres(config.databaseUrl, logger)
  cleanUps.push(() => database.close())
  try {
    await migrate(database)
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException
    throw new StartError(`The database cannot be used: ${message || code}`, { cause: error })
  }
  return database
}

const proxySettings = (env: NodeJS.ProcessEnv) => ({
  httpProxy: env['HTTP_PROXY'] ?? env['http_proxy'],
  httpsProxy: env['HTTPS_PROXY'] ?? env['https_proxy'],
  noProxy: env['NO_PROXY'] ?? env['no_proxy'],
})

async function listen(server: FastifyInstance, { host, port }: Config): Promise<string> {
  try {
    await server.listen({ host, port })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE')
      throw new StartError(`Port ${port} on ${host} is in use; stop what uses it or set PORT`, { cause: error })
    throw error
  }
  const address = server.server.address() as AddressInfo
  const shown = ['0.0.0.0', '::'].includes(host) ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `http://${shown}:${address.port}`
}
