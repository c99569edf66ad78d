import type { StoredDestination } from '../db/stored-destination.ts'
import type { Suppression } from '../deletions/suppression.ts'
import { compileFilter, type EventFilter } from '../filters/filter.ts'
import type { IngestPort, IngestSource } from '../ingest/port.ts'
import type { LiveEvents } from '../live/live-events.ts'
import { deliveryTarget } from '../settings/delivery-target.ts'
import type { Settings } from '../settings/settings.ts'
import type { ConnectedSource } from '../settings/snapshot.ts'
import type { EventLedger } from './event-ledger.ts'
import type { Intake } from './intake.ts'

/** What the ingest API needs, on the settings in memory and the intake. */
export function createIngestPort(
  settings: Settings,
  intake: Intake,
  ledger: EventLedger,
  liveSink: LiveEvents['sink'],
  { isSuppressed }: Pick<Suppression, 'isSuppressed'>,
): IngestPort {
  const filterOf = filtersOfDestinations()
  return {
    findSource: (writeKey) => {
      const source = settings.sourceByWriteKey(writeKey)
      return source && toIngestSource(source, filterOf)
    },
    accept: (events) => intake.accept(events),
    count: (...fate) => ledger.count(...fate),
    countLeftOut: ledger.countLeftOut,
    isSuppressed,
    liveSink,
    keepTurnedAway: ledger.turnedAway.keep,
    turnedAwayWritten: ledger.turnedAway.written,
  }
}

type FilterOf = (destination: StoredDestination) => EventFilter | undefined

/** Filters are made ready once for each version of a destination: one that is changed is another object. */
function filtersOfDestinations(): FilterOf {
  const ready = new WeakMap<StoredDestination, EventFilter>()
  return (destination) => {
    const { id, filter } = destination
    if (filter === null) return undefined
    const known = ready.get(destination) ?? compileFilter(filter, id)
    ready.set(destination, known)
    return known
  }
}

const toIngestSource = ({ id, enabled, destinations }: ConnectedSource, filterOf: FilterOf): IngestSource => ({
  id,
  enabled,
  destinations: destinations.flatMap((destination) => {
    const target = deliveryTarget(destination)
    if (target === undefined) return []
    return [{ ...target, integration: 'Webhooks' as const, name: destination.name, filter: filterOf(destination) }]
  }),
})
