/** All settings in memory: what ingest and deliveries look up for every event. */

import type { Database } from '../db/database.ts'
import type { DestinationStore } from '../db/destinations.ts'
import type { StoredDestination } from '../db/stored-destination.ts'
import { changedSettings, readSettingsVersion } from '../db/settings-version.ts'
import { allSources } from '../db/sources.ts'
import { PartAwayError } from '../errors.ts'
import { createFailureLog } from '../failure-log.ts'
import type { Logger } from '../logger.ts'
import { createSnapshot, type ConnectedSource, type Snapshot } from './snapshot.ts'

/** Milliseconds between two looks at the version: a change on another node counts within twice this time. */
const pollMs = 750

/** The settings as they are now. While the database is away, the last ones that were read stand; before they were read for
 *  the first time, each look-up throws a PartAwayError. */
export interface Settings {
  /** Reads everything for the first time, and follows what other nodes change from then on. */
  load: () => Promise<void>
  isLoaded: () => boolean
  /** Number of the settings that are in force here: each change counts it up; undefined before they were read. */
  version: () => string | undefined
  sourceByWriteKey: (writeKey: string) => ConnectedSource | undefined
  source: (id: string) => ConnectedSource | undefined
  sources: () => Iterable<ConnectedSource>
  destination: (id: string) => StoredDestination | undefined
  destinations: () => Iterable<StoredDestination>
  /** Reads what changed: after a change made by this node. */
  refresh: () => Promise<void>
  /** Reads what another node changed, if it did: before a conclusion that cannot be taken back. */
  catchUp: () => Promise<void>
  close(): void
}

export function watchSettings(database: Database, destinationStore: DestinationStore, logger: Logger): Settings {
  let snapshot: Snapshot | undefined
  const loaded = (): Snapshot => {
    if (snapshot === undefined) throw new PartAwayError('database', 'the settings are not read yet')
    return snapshot
  }
  let reading: Promise<void> | undefined

  // The version first: a change between the reads then leads to one read too many, never to one too few.
  const read = async (): Promise<void> => {
    const version = await readSettingsVersion(database)
    // A version that was higher before is of a database that was restored since: nobody knows what changed.
    const known = snapshot !== undefined && BigInt(version) >= BigInt(snapshot.version()) ? snapshot : undefined
    const ids = known && (await changedSettings(database, known.version()))
    const sources = await allSources(database, ids)
    const destinations = await destinationStore.all(ids)
    snapshot = known ?? createSnapshot()
    snapshot.apply({ version, ids: ids ?? [], sources, destinations })
  }

  // A read that began before a change may miss it, so that whoever asks meanwhile waits for one more.
  const refresh = async (): Promise<void> => {
    while (reading !== undefined) await reading.catch(() => undefined)
    reading = read()
    try {
      await reading
    } finally {
      reading = undefined
    }
  }

  const catchUp = async (): Promise<void> => {
    if ((await readSettingsVersion(database)) !== loaded().version()) await refresh()
  }

  const failures = createFailureLog(logger, 'settings.not_read')
  const poll = async (): Promise<void> => {
    try {
      await catchUp()
      failures.worked()
    } catch (error) {
      failures.failed(error)
    }
    pollLater()
  }
  const pollLater = (): void => {
    if (!closed) timer = setTimeout(() => void poll(), pollMs).unref()
  }
  let closed = false
  let timer: NodeJS.Timeout | undefined

  return {
    async load() {
      await refresh()
      pollLater()
    },
    isLoaded: () => snapshot !== undefined,
    version: () => snapshot?.version(),
    sourceByWriteKey: (writeKey) => loaded().sourceByWriteKey(writeKey),
    source: (id) => loaded().sources.get(id),
    sources: () => loaded().sources.values(),
    destination: (id) => loaded().destinations.get(id),
    destinations: () => loaded().destinations.values(),
    refresh,
    catchUp,
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}
