/** Many calls to one destination at a time: bounded, paced, and ended early when the destination is down. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Change } from './identify.ts'

/** What became of one call at its first attempt. */
export type Posted =
  | { kind: 'sent' }
  /** Refused for good; unasked: before any call was made. */
  | { kind: 'failed'; reason: string; isUnasked?: true }
  /** Failed in a way that may pass at these endpoints; the mapping is absent where there was none. */
  | { kind: 'unavailable'; endpointIds: string[]; mappingId?: string }
  /** Not made: nothing goes out for the user any more. */
  | { kind: 'withheld' }
  /** Not made: this side is stopping. */
  | { kind: 'unmade' }

export interface PostOptions {
  concurrency: number
  /** So many calls in a row that are unavailable mean that the destination is down. */
  maxUnavailableInRow: number
  /** The moment at which the next call may be made; undefined: now. */
  pace: () => Promise<void> | undefined
  /** Asked before each call: whether to go on. */
  goesOn: () => boolean
}

export interface PostedChanges {
  /** Of the calls that were made, which are the first ones of those given. */
  results: { change: Change; posted: Posted }[]
  isDown: boolean
}

const unmade: Posted = { kind: 'unmade' }

/** A call that was not made tells nothing about its destination. */
const wasAnswered = (posted: Posted): boolean =>
  posted.kind === 'sent' || (posted.kind === 'failed' && posted.isUnasked !== true)

/** Posts changes in their order until all are posted, `goesOn` says no or the destination is down, and waits for those
 *  under way. All calls that the answers of one turn of the event loop leave room for are made together: made one by one,
 *  each would wake the receiver, and its answer this thread. */
export function postSideBySide(
  changes: readonly Change[],
  post: (change: Change) => Promise<Posted>,
  { concurrency, maxUnavailableInRow, pace, goesOn }: PostOptions,
): Promise<PostedChanges> {
  const results: PostedChanges['results'] = []
  let next = 0
  let underWay = 0
  let unavailableInRow = 0

  return new Promise((resolve, reject) => {
    const note = (index: number, change: Change, posted: Posted): void => {
      if (posted.kind === 'unavailable') unavailableInRow++
      else if (wasAnswered(posted)) unavailableInRow = 0
      results[index] = { change, posted }
      underWay--
      makeSoon()
    }
    const make = (index: number, change: Change): void => {
      const posting = goesOn() ? post(change) : Promise.resolve(unmade)
      posting.then((posted) => note(index, change, posted), reject)
    }
    const makeAll = (): void => {
      soon = undefined
      while (underWay < concurrency && unavailableInRow < maxUnavailableInRow && goesOn()) {
        const index = next
        const change = changes[index]
        if (change === undefined) break
        next++
        underWay++
        // Waited for only where there is something to wait for: a promise per call is not free.
        const turn = pace()
        if (turn === undefined) make(index, change)
        else turn.then(() => make(index, change), reject)
      }
      if (underWay === 0) resolve({ results, isDown: unavailableInRow >= maxUnavailableInRow })
    }
    let soon: NodeJS.Immediate | undefined
    const makeSoon = (): void => {
      soon ??= setImmediate(makeAll)
    }
    makeAll()
  })
}

/** A pace of so many calls a second, evenly spread.
 *  @param perSecond  asked before each call; Infinity: as many as can be made
 *  @param startsAt  when the first one may be made, by `performance.now` */
export function createPace(perSecond: () => number, startsAt = performance.now()): () => Promise<void> | undefined {
  let nextAt = startsAt
  return () => {
    const now = performance.now()
    const at = Math.max(now, nextAt)
    nextAt = at + 1000 / perSecond()
    return at > now ? sleep(at - now) : undefined
  }
}
