/** The settings in memory. A change costs as much as what it touches, however much there is. */

import type { StoredDestination } from '../db/stored-destination.ts'
import type { StoredSource } from '../db/sources.ts'

/** A source with the switched-on destinations that its events go to. */
export interface ConnectedSource extends StoredSource {
  destinations: readonly StoredDestination[]
}

/** What was read anew. */
export interface SettingsChange {
  version: string
  /** What these were is forgotten; those that are still there follow. */
  ids: readonly string[]
  sources: readonly StoredSource[]
  destinations: readonly StoredDestination[]
}

export interface Snapshot {
  version(): string
  apply(change: SettingsChange): void
  sources: ReadonlyMap<string, ConnectedSource>
  destinations: ReadonlyMap<string, StoredDestination>
  /** Also by a write key that was replaced, until its time is over. */
  sourceByWriteKey(writeKey: string): ConnectedSource | undefined
}

export function createSnapshot(): Snapshot {
  let version = '0'
  const sources = new Map<string, ConnectedSource>()
  const destinations = new Map<string, StoredDestination>()
  const byKey = new Map<string, { source: ConnectedSource; expiresAt: Date | undefined }>()
  /** The switched-on destinations of each source, by their ids. */
  const connected = new Map<string, Map<string, StoredDestination>>()
  /** The switched-on destinations of each source as a list in order of their creation, made when it is asked for. */
  const lists = new Map<string, StoredDestination[]>()

  const destinationsOf = (sourceId: string): StoredDestination[] => {
    const list = lists.get(sourceId) ?? [...(connected.get(sourceId)?.values() ?? [])].sort(byCreation)
    lists.set(sourceId, list)
    return list
  }

  const forget = (id: string): void => {
    const source = sources.get(id)
    for (const writeKey of source === undefined ? [] : keysOf(source)) byKey.delete(writeKey)
    sources.delete(id)
    for (const sourceId of destinations.get(id)?.sourceIds ?? []) {
      connected.get(sourceId)?.delete(id)
      if (connected.get(sourceId)?.size === 0) connected.delete(sourceId)
      lists.delete(sourceId)
    }
    destinations.delete(id)
  }

  const addSource = (stored: StoredSource): void => {
    const source: ConnectedSource = {
      ...stored,
      get destinations() {
        return destinationsOf(stored.id)
      },
    }
    sources.set(source.id, source)
    byKey.set(source.writeKey, { source, expiresAt: undefined })
    for (const { writeKey, expiresAt } of source.previousKeys) byKey.set(writeKey, { source, expiresAt })
  }

  const addDestination = (destination: StoredDestination): void => {
    destinations.set(destination.id, destination)
    if (!destination.enabled) return
    for (const sourceId of destination.sourceIds) {
      const others = connected.get(sourceId) ?? new Map<string, StoredDestination>()
      connected.set(sourceId, others.set(destination.id, destination))
      lists.delete(sourceId)
    }
  }

  return {
    version: () => version,
    apply(change) {
      change.ids.forEach(forget)
      change.sources.forEach(addSource)
      change.destinations.forEach(addDestination)
      version = change.version
    },
    sources,
    destinations,
    sourceByWriteKey(writeKey) {
      const found = byKey.get(writeKey)
      return (found?.expiresAt?.getTime() ?? Infinity) > Date.now() ? found?.source : undefined
    },
  }
}

/** As lists of destinations are ordered: an edit moves none. */
const byCreation = (one: StoredDestination, other: StoredDestination): number =>
  one.createdAt === other.createdAt ? (one.id < other.id ? -1 : 1) : one.createdAt < other.createdAt ? -1 : 1

const keysOf = ({ writeKey, previousKeys }: StoredSource): string[] => [
  writeKey,
  ...previousKeys.map((previous) => previous.writeKey),
]
