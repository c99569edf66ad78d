import type { LiveEvent } from '../../../src/schemas/live-event.ts'
import type { TurnedAwayEvent, TurnedAwayFate } from '../../../src/schemas/turned-away.ts'

/** What becomes of an event at the door: how it looks. */
export const fateLooks: Record<LiveEvent['fate'], { label: string; color: string }> = {
  accepted: { label: 'Accepted', color: 'teal' },
  no_destination: { label: 'No destination', color: 'yellow' },
  filtered: { label: 'Filtered', color: 'gray' },
  suppressed: { label: 'Suppressed', color: 'gray' },
  dropped: { label: 'Dropped', color: 'red' },
  rejected: { label: 'Rejected', color: 'red' },
}

/** Why an event became no delivery. */
export const whyTurnedAway = ({ message, fate }: Pick<TurnedAwayEvent, 'message' | 'fate'>): string =>
  message ?? fateReasons[fate]

/** Why, where nothing more is known of an event than its fate. */
const fateReasons: Record<TurnedAwayFate, string> = {
  rejected: 'It was refused, and its sender got the error.',
  filtered: 'Its “integrations” member excludes every destination of the source.',
  no_destination: 'Its source had no destination that was switched on.',
  suppressed: 'Its user asked to be forgotten, so it was deleted.',
  dropped: 'Its source was switched off or its write key unknown; the sender was told that it was accepted.',
}
