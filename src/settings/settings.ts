/** All settings in memory: what ingest and deliveries look up for every event. */

import type { Database } from '../db/database.ts'
import type { DestinationStore, StoredDestination } from '../db/destinations.ts'
import { readSettingsVersion } from '../db/settings-version.ts'
import { allSources, type StoredSource } from '../db/sources.ts'
import { PartAwayError } from '../errors.ts'
import type { Logger } from '../logger.ts'

/** Milliseconds between two looks at the version: a change on another node counts within twice this time. */
const pollMs = 750

/** A source with the switched-on destinations that its events go to. */
export interface ConnectedSource extends StoredSource {
  destinations: StoredDestination[]
}

interface Snapshot {
  version: string
  sourcesByKey: Map<string, ConnectedSource>
  /** By the write keys that were replaced and count until a time. */
  sourcesByPreviousKey: Map<string, { source: ConnectedSource; expiresAt: Date }>
  sourcesById: Map<string, ConnectedSource>
  destinations: Map<string, StoredDestination>
}

/** The settings as they are now. While the database is away, the last ones that were read stand; before they were read for
 *  the first time, each look-up throws a PartAwayError. */
export interface Settings {
  /** Reads everything for the first time, and follows what other nodes change from then on. */
  load: () => Promise<void>
  isLoaded: () => boolean
  sourceByWriteKey: (writeKey: string) => ConnectedSource | undefined
  source: (id: string) => ConnectedSource | undefined
  sources: () => Iterable<ConnectedSource>
  destination: (id: string) => StoredDestination | undefined
  destinations: () => Iterable<StoredDestination>
  /** Reads everything again: after a change made by this node. */
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

  // A read that began before a change may miss it, so that whoever asks meanwhile waits for one more.
  const refresh = async (): Promise<void> => {
    while (reading !== undefined) await reading.catch(() => undefined)
    reading = (async () => {
      snapshot = await readSnapshot(database, destinationStore)
    })()
    try {
      await reading
    } finally {
      reading = undefined
    }
  }

  const catchUp = async (): Promise<void> => {
    if ((await readSettingsVersion(database)) !== loaded().version) await refresh()
  }

  const poll = async (): Promise<void> => {
    try {
      await catchUp()
    } catch (error) {
      logger.warn({ error: (error as Error).message }, 'settings.not_read')
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
    sourceByWriteKey: (writeKey) => loaded().sourcesByKey.get(writeKey) ?? sourceByPreviousKey(loaded(), writeKey),
    source: (id) => loaded().sourcesById.get(id),
    sources: () => loaded().sourcesById.values(),
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

function sourceByPreviousKey({ sourcesByPreviousKey }: Snapshot, writeKey: string): ConnectedSource | undefined {
  const found = sourcesByPreviousKey.get(writeKey)
  return found !== undefined && found.expiresAt.getTime() > Date.now() ? found.source : undefined
}

async function readSnapshot(database: Database, destinationStore: DestinationStore): Promise<Snapshot> {
  // The version first: a change between the reads then leads to one read too many, never to one too few.
  const version = await readSettingsVersion(database)
  const destinations = await destinationStore.all()
  const sources = (await allSources(database)).map((source) => ({
    ...source,
    destinations: destinations.filter(({ enabled, sourceIds }) => enabled && sourceIds.includes(source.id)),
  }))
  return {
    version,
    sourcesByKey: new Map(sources.map((source) => [source.writeKey, source])),
    sourcesByPreviousKey: new Map(
      sources.flatMap((source) =>
        source.previousKeys.map(({ writeKey, expiresAt }) => [writeKey, { source, expiresAt }] as const),
      ),
    ),
    sourcesById: new Map(sources.map((source) => [source.id, source])),
    destinations: new Map(destinations.map((destination) => [destination.id, destination])),
  }
}
