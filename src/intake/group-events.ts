/** Gathers the events of many callers into groups, and has one group written at a time: what arrives while one is written, and shortly after,
 *  makes up the next. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { NewInboxEvent } from '../db/inbox.ts'
import { AppError } from '../errors.ts'
import { within } from '../within.ts'

/** Events of a group, unless one caller alone brings more. */
const maxGroup = 1_000

/** How long a group is gathered, in milliseconds: a statement costs more than the events in it, and those who were just
 *  answered post their next ones about now. */
const gatherMs = 4

/** Events of callers that wait for their group; more are turned away until some are written. */
const maxWaiting = 20_000

/** How long a group may take, in milliseconds. Whoever waits for it, or behind it, is then told that the database is away:
 *  Temporal may take their events. */
const writeLimitMs = 5_000

/** For so long after a group that failed nobody tries again, in milliseconds; then one group finds out. */
const restMs = 1_000

/** When a caller that found the inbox full should come again, in seconds. */
const retryAfterSeconds = 5

/** Someone who waits for their events to be written. */
export interface Caller {
  events: NewInboxEvent[]
  /** @param duplicates  how many were known already */
  resolve: (duplicates: number) => void
  reject: (error: unknown) => void
}

export interface EventGroups {
  /** Resolves once the group of these events is written.
   *  @returns how many were known already
   *  @throws AppError inbox_full; what the write of a group threw, at once for a second after it. Events may then have been written all the
   *  same, later */
  write: (events: NewInboxEvent[]) => Promise<number>
  /** Resolves when the group that is being written is through; at once when nobody waits.
   *  @returns how many callers it had */
  written: () => Promise<number>
}

/** @param writeGroup  writes a group and answers each of its callers; when it throws, or takes longer than 5 s, all that are not answered
 *  are refused, and those who wait behind them */
export function groupEvents(writeGroup: (group: Caller[]) => Promise<void>): EventGroups {
  const queue: Caller[] = []
  let waitingEvents = 0
  /** Answers how many callers its group had. */
  let underWay: Promise<number> | undefined
  /** Why the last group failed. */
  let failure: Error | undefined
  let restUntil = -Infinity

  const writeNext = async (): Promise<number> => {
    const group = takeGroup(queue)
    waitingEvents -= sizeOf(group)
    try {
      await within(writeLimitMs, 'the database', writeGroup(group))
      failure = undefined
    } catch (error) {
      failure = error as Error
      restUntil = performance.now() + restMs
      waitingEvents = 0
      for (const { reject } of [...group, ...queue.splice(0)]) reject(error)
    }
    return group.length
  }

  const writeAll = async (): Promise<void> => {
    for (; queue.length > 0; await underWay) underWay = sleep(gatherMs).then(writeNext)
    underWay = undefined
  }

  return {
    write(events) {
      if (failure !== undefined && (underWay !== undefined || performance.now() < restUntil))
        return Promise.reject(failure)
      if (waitingEvents + events.length > maxWaiting)
        return Promise.reject(inboxFull('more events arrive than the database can take'))
      waitingEvents += events.length
      return new Promise((resolve, reject) => {
        queue.push({ events, resolve, reject })
        if (underWay === undefined) void writeAll()
      })
    },
    written: async () => underWay ?? 0,
  }
}

/** Takes from the queue those who make up the next group. */
function takeGroup(queue: Caller[]): Caller[] {
  let size = 0
  const end = queue.findIndex(({ events }, index) => (size += events.length) > maxGroup && index > 0)
  return queue.splice(0, end === -1 ? queue.length : end)
}

const sizeOf = (group: readonly Caller[]): number => group.reduce((size, { events }) => size + events.length, 0)

export const inboxFull = (message: string): AppError => new AppError('inbox_full', message, { retryAfterSeconds })
