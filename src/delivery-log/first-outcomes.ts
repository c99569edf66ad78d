/** Waits for what the first attempt of an event becomes, whichever node makes it. */

import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../errors.ts'
import type { Logger } from '../logger.ts'
import type { DeliveryDetail } from '../schemas/delivery.ts'
import type { FirstOutcome } from '../schemas/first-outcome.ts'
import { endingAfter, unlessAborted } from '../unless-aborted.ts'

/** Callers of a node that wait at the same time: each asks the delivery log a few times a second. */
export const maxWaiting = 20

/** Pauses between two looks, in milliseconds: each is twice the one before. */
const firstPauseMs = 25
const longestPauseMs = 500

/** @returns what is known when the first attempt is over, or `limitMs` milliseconds or `gone` end the wait; undefined when nothing is,
 *  or too many wait already */
export type FindFirstOutcome = (
  deliveryId: string,
  limitMs: number,
  gone: AbortSignal,
) => Promise<FirstOutcome | undefined>

export interface FirstOutcomeDependencies {
  read: (deliveryId: string) => Promise<DeliveryDetail>
  logger: Logger
}

export function createFirstOutcomes({ read, logger }: FirstOutcomeDependencies): FindFirstOutcome {
  let waiting = 0

  /** The event is held, so its answer must not fail for what cannot be looked up. */
  const look = async (deliveryId: string, end: AbortSignal): Promise<FirstOutcome | undefined> => {
    try {
      const { status, attempts } = await unlessAborted(read(deliveryId), end)
      return { status, deliveryId, attempts }
    } catch (error) {
      if (!end.aborted && !(error instanceof AppError))
        logger.warn({ error: (error as Error).message }, 'outcome.not_read')
      return undefined
    }
  }

  const lookUntil = async (deliveryId: string, end: AbortSignal): Promise<FirstOutcome | undefined> => {
    let known: FirstOutcome | undefined
    for (let pauseMs = firstPauseMs; !end.aborted; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      known = (await look(deliveryId, end)) ?? known
      if (known !== undefined && known.status !== 'queued' && known.status !== 'delivering') break
      await sleep(pauseMs, undefined, { signal: end }).catch(() => undefined)
    }
    return known
  }

  return async (deliveryId, limitMs, gone) => {
    if (waiting >= maxWaiting) return undefined
    waiting++
    try {
      return await endingAfter(limitMs, gone, (end) => lookUntil(deliveryId, end))
    } finally {
      waiting--
    }
  }
}
