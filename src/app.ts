/** The composition root: makes every part of a node from its settings, and stops them in the right order. */

import { Registry } from 'prom-client'
import { sessionKeys } from './access/session.ts'
import { looksAt, watchAvailability } from './availability.ts'
import { composeAudiences } from './composition/compose-audiences.ts'
import { createCleanUps, type CleanUps } from './clean-ups.ts'
import type { Config } from './config.ts'
import { openDataFolder } from './data-folder.ts'
import type { Database } from './db/database.ts'
import { createDestinationStore } from './db/destinations.ts'
import { checkKeys } from './db/sealed-columns.ts'
import { prepareDatabase } from './composition/open-database.ts'
import { createTokenStore } from './db/tokens.ts'
import { watchSuppression } from './deletions/suppression.ts'
import { composeDeletions } from './composition/compose-deletions.ts'
import { composeDeliveries } from './composition/compose-deliveries.ts'
import { createAddressGuard } from './delivery/guard-address.ts'
import { proxySettings } from './delivery/proxy.ts'
import { createSender } from './delivery/send.ts'
import { listen } from './http/listen.ts'
import { buildServer } from './http/server.ts'
import { composeIntake } from './composition/compose-intake.ts'
import { createIngestPort } from './intake/ingest-port.ts'
import { installationSecrets } from './installation.ts'
import { createLiveEvents } from './live/live-events.ts'
import type { Logger } from './logger.ts'
import { startQuickstart, type Quickstart } from './quickstart/quickstart.ts'
import type { ReceivedEvent } from './receiver/receiver.ts'
import { readiness } from './readiness.ts'
import { createSecretBox } from './secrets.ts'
import { watchSettings } from './settings/settings.ts'
import { statusReader } from './status.ts'
import type { Temporal } from './temporal/connection.ts'
import { prepareTemporal } from './composition/open-temporal.ts'
import { prepareWorker, type WorkerLimits } from './temporal/worker.ts'
import { unlessAborted } from './unless-aborted.ts'
import type { WorkflowCode } from './temporal/workflow-code.ts'

export interface AppOptions {
  logger: Logger
  /** Environment for the parts that read a standard of their own (Temporal's connection, proxies). */
  environment: NodeJS.ProcessEnv
  /** Takes one line at a time about what a long start is doing. */
  onProgress: (line: string) => void
  /** Takes what the Quickstart receiver gets. */
  onReceived: (event: ReceivedEvent) => void
  /** Ends a start that is under way. */
  signal: AbortSignal
  workflowCode: WorkflowCode
  /** Unless given, those that fit a worker in service. */
  workerLimits?: WorkerLimits
}

export interface App {
  url: string
  adminToken: string
  temporal: Temporal
  quickstart: Quickstart | undefined
  /** Takes no more events, lets what runs finish within a bound, and leaves nothing behind. */
  stop(): Promise<void>
}

/** Starts a node: it listens at once, and the promise resolves when it delivers.
 *  @throws StartError with one line for the operator; what was started before is stopped again */
export async function startApp(config: Config, options: AppOptions): Promise<App> {
  const cleanUps = createCleanUps(options.logger)
  try {
    return { ...(await startParts(config, options, cleanUps)), stop: () => cleanUps.run() }
  } catch (error) {
    await cleanUps.run()
    throw error
  }
}

async function startParts(config: Config, options: AppOptions, cleanUps: CleanUps): Promise<Omit<App, 'stop'>> {
  const { logger } = options
  const folder = await openDataFolder(config.dataDir)
  cleanUps.add(() => folder.close())
  const { adminToken, encryptionKeys } = await installationSecrets(config, folder.path)
  const openingTemporal = prepareTemporal(config, folder.path, options)
  const openingDatabase = prepareDatabase(config, folder.path, options)
  cleanUps.add(
    () => openingTemporal.close(),
    () => openingDatabase.close(),
  )
  const { temporal } = openingTemporal
  const { database } = openingDatabase
  const availability = watchAvailability(looksAt(database, temporal), logger)
  cleanUps.add(() => availability.close())
  const secrets = createSecretBox(encryptionKeys)
  const destinationsIn = (database: Database) => createDestinationStore(database, secrets)
  const destinations = destinationsIn(database)
  const settings = watchSettings(database, destinations, logger)
  cleanUps.add(() => settings.close())

  const suppression = watchSuppression(database, { isShared: config.databaseUrl !== undefined }, logger)
  cleanUps.add(() => suppression.close())

  let quickstart: Quickstart | undefined
  // Stopped late: attempts that are finished while the node stops may lead to it.
  cleanUps.add(() => quickstart?.receiver.stop())

  const guard = createAddressGuard(config.allowedNetworks)
  const sender = createSender({ allowedNetworks: config.allowedNetworks, proxy: proxySettings(options.environment) })
  cleanUps.add(() => sender.close())
  const registry = new Registry()
  const { retry } = config
  const deliveries = composeDeliveries({
    config,
    database,
    settings,
    suppression,
    sender,
    temporal,
    // Made later: the intake asks which endpoints take no more.
    queuedSteering: {
      retry: (id) => queuedSteering.retry(id),
      cancel: (id, trace) => queuedSteering.cancel(id, trace),
      find: (id) => queuedSteering.find(id),
    },
    logger,
  })
  cleanUps.add(() => deliveries.stop())
  const { steering } = deliveries
  const audiences = composeAudiences({
    database,
    secrets,
    settings,
    suppression,
    guard,
    sender,
    temporal,
    retry,
    registry,
    logger,
  })
  cleanUps.add(() => audiences.stop())
  const deletions = composeDeletions({ database, settings, suppression, temporal, steering, retry, logger })
  cleanUps.add(() => deletions.stop())
  const activities = { ...deliveries.activities, ...audiences.activities, ...deletions.activities }
  const worker = prepareWorker(temporal, options.workflowCode, activities, logger, options.workerLimits)
  cleanUps.add(() => worker.stop())

  const { intake, fates, queuedSteering, ...intakeParts } = composeIntake({
    config,
    database,
    temporal,
    parcelLoad: deliveries.parcelLoad,
    readiness: deliveries.readiness,
    registry,
    logger,
  })
  cleanUps.add(() => intakeParts.stop())
  const liveEvents = createLiveEvents()
  const ingest = createIngestPort(settings, intake, fates, liveEvents.sink, suppression)
  const server = await buildServer({
    ...deliveries,
    adminToken,
    sessionKeys: sessionKeys(encryptionKeys, adminToken),
    tokens: createTokenStore(database, logger),
    limits: { requestTimeoutMs: config.requestTimeoutMs, maxConnections: config.maxConnections },
    liveEvents,
    readStatus: statusReader({ config, database, temporal, look: availability.look }),
    database,
    destinations,
    settings,
    guard,
    sender,
    temporal,
    audiences: audiences.audiences,
    pullGuard: audiences.pullGuard,
    liveTraffic: audiences.liveTraffic,
    onSyncRequested: audiences.onSyncRequested,
    deletionRequests: deletions.deletionRequests,
    ingest: {
      ...ingest,
      accept(events) {
        audiences.liveTraffic.note()
        return ingest.accept(events)
      },
    },
    lenientAuth: config.lenientAuth,
    trustedProxies: config.trustedProxies,
    logger,
    registry,
    deadReason: () => worker.deadReason(),
    readiness: () => readiness(availability.look, settings.isLoaded),
  })
  const url = await listen(server, config.host, config.port)
  cleanUps.add(() => server.close())
  // The worker is asked to stop first, and awaited at its place above: attempts that begin later would make the stop longer.
  cleanUps.add(() => void worker.stop())

  // Listening already: events are taken as soon as the settings are known, wherever Temporal is.
  const loadSettings = async () => {
    await checkKeys(database, secrets)
    await suppression.load()
    await settings.load()
  }
  await Promise.all([openingDatabase.open(loadSettings), openingTemporal.open()])
  await unlessAborted(worker.start(), options.signal)

  if (config.temporal.kind === 'embedded')
    quickstart = await startQuickstart({
      database,
      destinationsIn,
      settings,
      guard,
      port: config.quickstartPort,
      onReceived: options.onReceived,
    })
  return { url, adminToken, temporal, quickstart }
}
