import type { StoredDestination } from '../db/stored-destination.ts'
import type { Suppression } from '../deletions/suppression.ts'
import { compileFilter } from '../filters/filter.ts'
import type { IngestDestination, IngestPort, IngestSource } from '../ingest/port.ts'
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
  const prepare = prepareDestinations()
  return {
    findSource: (writeKey) => {
      const source = settings.sourceByWriteKey(writeKey)
      return source && toIngestSource(source, prepare)
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

type Prepare = (destination: StoredDestination) => IngestDestination | undefined

/** Destinations are made ready once for each version of them: one that is changed is another object. Those that get nothing now have none. */
function prepareDestinations(): Prepare {
  const ready = new WeakMap<StoredDestination, { prepared: IngestDestination | undefined }>()
  return (destination) => {
    const { prepared } = ready.get(destination) ?? { prepared: toIngestDestination(destination) }
    ready.set(destination, { prepared })
    return prepared
  }
}

function toIngestDestination(destination: StoredDestination): IngestDestination | undefined {
  const { id, name, filter } = destination
  const target = deliveryTarget(destination)
  return (
    target && {
      ...target,
      integration: 'Webhooks',
      name,
      filter: filter === null ? undefined : compileFilter(filter, id),
    }
  )
}

const toIngestSource = ({ id, enabled, destinations }: ConnectedSource, prepare: Prepare): IngestSource => ({
  id,
  enabled,
  destinations: destinations.flatMap((destination) => prepare(destination) ?? []),
})
