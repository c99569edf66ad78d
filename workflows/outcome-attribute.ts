/** The search attribute that tells where an unfinished delivery stands. */

import { upsertSearchAttributes } from '@temporalio/workflow'
import type { OutcomeAttribute } from '../src/contracts/delivery.ts'
import type { SearchAttributeName } from '../src/contracts/names.ts'

const name: SearchAttributeName = 'PostriderOutcome'

/** What stands for the whole event when its destinations differ: the first of these that any of them has. */
const precedence: readonly OutcomeAttribute[] = ['held', 'retrying', 'delivered']

export interface OutcomeReport {
  /** Each destination tells when its state changes; a change for the whole event is written (one visibility update). */
  report(destinationId: string, state: OutcomeAttribute): void
}

export function createOutcomeReport(): OutcomeReport {
  const states = new Map<string, OutcomeAttribute>()
  let written: OutcomeAttribute | undefined
  return {
    report(destinationId, state) {
      states.set(destinationId, state)
      const overall = precedence.find((candidate) => [...states.values()].includes(candidate)) ?? state
      if (overall !== written) writeOutcome(overall)
      written = overall
    },
  }
}

export function writeOutcome(outcome: OutcomeAttribute): void {
  upsertSearchAttributes([{ key: { name, type: 'KEYWORD' }, value: outcome }])
}
