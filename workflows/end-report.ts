/** Tells of destinations that ended without success while others go on. */

import { patched, upsertMemo } from '@temporalio/workflow'
import { endedInMemo, type HeldEventInput, type DestinationResult } from '../src/contracts/delivery.ts'

/** @returns to be called once for each destination that ends */
export function createEndReport({ targets, resumed = [] }: HeldEventInput): (ended: DestinationResult) => void {
  const settled = resumed.flatMap((standing) => (standing.kind === 'settled' ? standing.result : []))
  const givenUp = settled.filter(isGivenUp).map(withoutAttempts)
  let open = targets.length - settled.length
  return (ended) => {
    open--
    if (!isGivenUp(ended)) return
    givenUp.push(withoutAttempts(ended))
    // The last one ends the delivery, whose result has them all.
    if (open > 0 && patched('ends-in-memo')) upsertMemo({ [endedInMemo]: givenUp })
  }
}

const isGivenUp = ({ outcome }: DestinationResult): boolean => outcome !== 'delivered'

/** The history has the attempts. */
const withoutAttempts = ({ endpoints, ...result }: DestinationResult): DestinationResult => ({
  ...result,
  endpoints: endpoints.map(({ lastAttempt: _, ...endpoint }) => endpoint),
})
