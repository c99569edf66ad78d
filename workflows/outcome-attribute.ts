/** The search attribute that tells where an unfinished delivery stands. */

import { upsertMemo, upsertSearchAttributes } from '@temporalio/workflow'
import type { OutcomeAttribute } from '../src/contracts/delivery.ts'
import type { SearchAttributeName } from '../src/contracts/names.ts'
import type { Wait } from '../src/contracts/next-step.ts'
import type { NoteResult } from './results-attribute.ts'

const name: SearchAttributeName = 'PostriderOutcome'

/** What stands for the whole event when its destinations differ: the first of these that any of them has. */
const precedence: readonly OutcomeAttribute[] = ['held', 'retrying', 'delivered']

export interface OutcomeReport {
  /** To be called when the state of a destination changes; a change for the whole event is written, by one visibility update. */
  report(destinationId: string, state: Exclude<OutcomeAttribute, 'partly_delivered'>): void
  /** Keeps in the memo why it waits and until when, from the first time on that an endpoint is down: lists show it. */
  explain(wait: Wait): void
}

/** @param noteResult  told of each change at a destination */
export function createOutcomeReport(noteResult: NoteResult): OutcomeReport {
  const states = new Map<string, OutcomeAttribute>()
  let written: OutcomeAttribute | undefined
  let isExplained = false
  return {
    report(destinationId, state) {
      states.set(destinationId, state)
      const overall = precedence.find((candidate) => [...states.values()].includes(candidate)) ?? state
      if (overall !== written) writeOutcome(overall)
      written = overall
      noteResult(destinationId, state)
    },
    explain({ reason, until, isDown = false }) {
      isExplained ||= isDown
      if (isExplained) upsertMemo({ reason, nextAttemptAt: new Date(until).toISOString() })
    },
  }
}

export function writeOutcome(outcome: OutcomeAttribute): void {
  upsertSearchAttributes([{ key: { name, type: 'KEYWORD' }, value: outcome }])
}
