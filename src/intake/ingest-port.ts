import type { Suppression } from '../deletions/suppression.ts'
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
  return {
    findSource: (writeKey) => {
      const source = settings.sourceByWriteKey(writeKey)
      return source && toIngestSource(source)
    },
    accept: (events) => intake.accept(events),
    count: (...fate) => ledger.count(...fate),
    isSuppressed,
    liveSink,
    keepTurnedAway: ledger.turnedAway.keep,
    turnedAwayWritten: ledger.turnedAway.written,
  }
}

const toIngestSource = ({ id, enabled, destinations }: ConnectedSource): IngestSource => ({
  id,
  enabled,
  destinations: destinations.flatMap((destination) => {
    const target = deliveryTarget(destination)
    return target === undefined ? [] : [{ ...target, integration: 'Webhooks' as const }]
  }),
})
