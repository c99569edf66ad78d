/** What everything else of a node stands on: folder, keys, Temporal, database, settings in memory, the way out to endpoints. */

import type { Registry } from 'prom-client'
import { looksAt, watchAvailability, type Availability } from '../availability.ts'
import { createCleanUps, type CleanUps } from '../clean-ups.ts'
import type { Config } from '../config.ts'
import { openDataFolder } from '../data-folder.ts'
import type { Database } from '../db/database.ts'
import { createDestinationStore, type DestinationStore } from '../db/destinations.ts'
import { ensureIdHashing } from '../db/id-hashing.ts'
import { addListenRequest, answeredListenRequests, removeListenRequest } from '../db/listen-requests.ts'
import { checkKeys } from '../db/sealed-columns.ts'
import { watchSuppression, type Suppression } from '../deletions/suppression.ts'
import { createUserKeys, type UserKeys } from '../deletions/user-keys.ts'
import { createAddressGuard, type AddressGuard } from '../delivery/guard-address.ts'
import { proxySettings } from '../delivery/proxy.ts'
import { createMailbox } from '../delivery/mailbox.ts'
import { createSender, type Sender } from '../delivery/send.ts'
import { installationSecrets, withKeysOf } from '../installation.ts'
import { nodeName, type Logger } from '../logger.ts'
import { createExpressions } from '../mapping/expressions.ts'
import type { Mapper } from '../mapping/mapper.ts'
import { createRegistry } from '../observation/registry.ts'
import { packageVersion } from '../package-version.ts'
import { createSecretBox, type SecretBox } from '../secrets.ts'
import { watchSettings, type Settings } from '../settings/settings.ts'
import type { Temporal } from '../temporal/connection.ts'
import { createSealedPayloads } from '../temporal/sealed-payloads.ts'
import type { Tracing } from '../tracing/port.ts'
import { composeMapper } from './compose-mapper.ts'
import { prepareDatabase } from './open-database.ts'
import { prepareTemporal, type OpenTemporalOptions } from './open-temporal.ts'

export interface Foundation {
  adminToken: string
  encryptionKeys: Awaited<ReturnType<typeof installationSecrets>>['encryptionKeys']
  temporal: Temporal
  database: Database
  secrets: SecretBox
  availability: Availability
  destinationsIn: (database: Database) => DestinationStore
  settings: Settings
  mapper: Mapper
  suppression: Suppression
  userKeys: UserKeys
  guard: AddressGuard
  sender: Sender
  registry: Registry
  /** Undefined: off. */
  tracing: Tracing | undefined
  logger: Logger
  /** Undone late in a stop: attempts that are finished meanwhile may still need it. */
  lateCleanUps: CleanUps
  /** Opens Temporal and the database, and loads what the node keeps in memory; both are waited for while they are away.
   *  @throws StartError when one cannot be used, so that waiting would not help; the signal's reason */
  open(): Promise<void>
}

/** @throws StartError when the folder cannot be used or a setting is at fault */
export async function composeFoundation(
  config: Config,
  options: OpenTemporalOptions,
  cleanUps: CleanUps,
): Promise<Foundation> {
  const { logger, environment } = options
  const folder = await openDataFolder(config.dataDir)
  cleanUps.add(() => folder.close())
  const { adminToken, encryptionKeys } = await installationSecrets(config, folder.path)
  const secrets = createSecretBox(encryptionKeys)

  // Stopped late: attempts that are finished while the node stops are told, too.
  const tracing = await openTracing(config, logger)
  cleanUps.add(() => tracing?.stop())
  const payloads = createSealedPayloads(encryptionKeys)
  const openingTemporal = prepareTemporal(config, folder.path, payloads, { ...options, tracing })
  const openingDatabase = prepareDatabase(config, folder.path, options)
  cleanUps.add(
    () => openingTemporal.close(),
    () => openingDatabase.close(),
  )
  const { temporal } = openingTemporal
  const { database } = openingDatabase
  const availability = watchAvailability(looksAt(database, temporal, config.roles), logger, (part) =>
    part === 'temporal' ? temporal.address : undefined,
  )
  cleanUps.add(() => availability.close())

  const destinationsIn = (store: Database): DestinationStore => createDestinationStore(store, secrets)
  const settings = watchSettings(database, destinationsIn(database), logger)
  cleanUps.add(() => settings.close())
  const suppression = watchSuppression(database, { isShared: config.databaseUrl !== undefined }, logger)
  cleanUps.add(() => suppression.close())
  const hashUser = (userId: string): string => temporal.names.keyOwner(userId)
  const userKeys = createUserKeys({ database, secrets, suppression, hashUser, logger })
  temporal.messages.use(userKeys)

  const lateCleanUps = createCleanUps(logger)
  cleanUps.add(() => lateCleanUps.run())
  const guard = createAddressGuard(config.allowedNetworks)
  const mailbox = createMailbox({
    add: (request) => addListenRequest(database, secrets, request),
    answered: (ids) => answeredListenRequests(database, ids),
    remove: (id) => removeListenRequest(database, id),
  })
  const { allowedNetworks } = config
  const sender = createSender({ allowedNetworks, proxy: proxySettings(environment), mailbox })
  cleanUps.add(() => sender.close())

  const expressions = createExpressions()
  cleanUps.add(() => expressions.close())

  const load = async (): Promise<void> => {
    await withKeysOf(config, folder.path, async () => {
      await checkKeys(database, secrets)
      temporal.names.use(await ensureIdHashing(database, encryptionKeys))
    })
    await suppression.load()
    await settings.load()
  }
  return {
    adminToken,
    encryptionKeys,
    temporal,
    database,
    secrets,
    availability,
    destinationsIn,
    settings,
    mapper: composeMapper(database, settings, expressions),
    suppression,
    userKeys,
    guard,
    sender,
    registry: createRegistry(packageVersion()),
    tracing,
    logger,
    lateCleanUps,
    open: async () => void (await Promise.all([openingDatabase.open(load), openingTemporal.open()])),
  }
}

/** OpenTelemetry takes memory and time to load, so that it is loaded only where it is wanted. */
async function openTracing(
  { tracingEndpoint: endpoint, tracingHeaders: headers = '' }: Config,
  logger: Logger,
): Promise<Tracing | undefined> {
  if (endpoint === undefined) return undefined
  const { createOtlpTracing } = await import('../tracing/otlp.ts')
  return createOtlpTracing({ endpoint, headers, node: nodeName, version: packageVersion(), logger })
}
