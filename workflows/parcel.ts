/** The state of a parcel that its destinations share. */

import { condition } from '@temporalio/workflow'
import type { RetrySchedule } from '../src/contracts/delivery.ts'
import { beginEvent, destinationOf, isOpenAt, isOver, withDestination } from '../src/contracts/parcel-progress.ts'
import type { DeliverParcelInput, EventProgress, HeldParcelEvent } from '../src/contracts/parcels.ts'
import { createTurns, type InTurn } from './one-at-a-time.ts'
import type { RetryClock } from './retry-clock.ts'
import { listenForSteering, type Steering } from './steering.ts'

export interface Parcel {
  retry: RetrySchedule
  steering: Steering
  inTurn: InTurn
  /** The retry windows of its destinations. */
  clocks: Map<string, RetryClock>
  eventAt(place: number): HeldParcelEvent
  progress(): EventProgress[]
  openAt(destinationId: string): EventProgress[]
  /** Takes note of events whose progress changed; one that was ended by an operator stays so. */
  note(changed: readonly EventProgress[]): void
  /** Takes note of events whose progress changed at one destination. */
  noteAt(destinationId: string, changed: readonly EventProgress[]): void
  cancelOpen(): void
  /** Events that the list of deliveries does not know as they are; they count as known from now on. */
  unrecorded(): EventProgress[]
  markRecorded(): void
  /** Runs the pursuit of a destination. */
  run(pursuit: () => Promise<void>): Promise<void>
  /** Whether pursuits are to stand still, as an operator steers an event. */
  isSteered(): boolean
  /** Resolves when the steering is over; a pursuit stands still until then. */
  standStill(): Promise<void>
  /** Does something while all pursuits stand still. */
  whileStill(work: () => Promise<void>): Promise<void>
}

export function createParcel({ events, retry }: DeliverParcelInput): Parcel {
  const progress = events.map(beginEvent)
  const recorded = new Set<EventProgress>()
  let pursuits = 0
  let still = 0
  let steered = 0

  const parcel: Parcel = {
    retry,
    steering: listenForSteering(),
    inTurn: createTurns(),
    clocks: new Map(),
    eventAt(place) {
      const event = events[place]
      if (event === undefined) throw new RangeError(`the parcel has no place ${place}`)
      return event
    },
    progress: () => progress,
    openAt: (destinationId) => progress.filter((event) => isOpenAt(event, destinationId)),
    note(changed) {
      for (const event of changed) if (progress[event.place]?.end === undefined) progress[event.place] = event
    },
    noteAt(destinationId, changed) {
      parcel.note(
        changed.flatMap((event) => {
          const known = progress[event.place]
          const part = destinationOf(event, destinationId)
          return known === undefined || part === undefined ? [] : [withDestination(known, part)]
        }),
      )
    },
    cancelOpen() {
      parcel.note(progress.filter((event) => !isOver(event)).map((event) => ({ ...event, end: 'cancelled' })))
    },
    unrecorded() {
      const changed = progress.filter((event) => !recorded.has(event))
      parcel.markRecorded()
      return changed
    },
    markRecorded() {
      recorded.clear()
      for (const event of progress) recorded.add(event)
    },
    async run(pursuit) {
      pursuits++
      await pursuit().finally(() => pursuits--)
    },
    isSteered: () => steered > 0,
    async standStill() {
      still++
      await condition(() => steered === 0)
      still--
    },
    async whileStill(work) {
      steered++
      try {
        await condition(() => still === pursuits)
        await work()
      } finally {
        steered--
      }
    },
  }
  return parcel
}
