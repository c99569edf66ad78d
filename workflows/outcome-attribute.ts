/** The search attribute that tells where an unfinished delivery stands. */

import { patched, upsertMemo, upsertSearchAttributes } from '@temporalio/workflow'
import type { HeldEventInput, OutcomeAttribute } from '../src/contracts/delivery.ts'
import type { SearchAttributeName } from '../src/contracts/names.ts'
import type { Wait } from '../src/contracts/next-step.ts'
import type { NoteResult } from './results-attribute.ts'

const name: SearchAttributeName = 'PostriderOutcome'

/** What stands for the whole event when its destinations differ: the first of these that any of them has. */
const precedence = ['held', 'retrying', 'delivered'] as const satisfies readonly OutcomeAttribute[]
type OpenOutcome = (typeof precedence)[number]

export interface OutcomeReport {
  /** To be called when the state of a destination changes; a change for the whole event is written, by one visibility update. */
  report(destinationId: string, state: OpenOutcome): void
  /** To be called when a destination has ended: from then on those that are left say where the delivery stands. */
  end(destinationId: string): void
  /** Keeps in the memo why it waits and until when, from the first time on that an endpoint is down: lists show it. */
  explain(wait: Wait): void
}

/** @param noteResult  told of each change at a destination */
export function createOutcomeReport(
  { targets, resumed = [] }: Pick<HeldEventInput, 'targets' | 'resumed'>,
  noteResult: NoteResult,
): OutcomeReport {
  let open = targets.length - resumed.filter(({ kind }) => kind === 'settled').length
  const states = new Map<string, OpenOutcome>()
  let written: OpenOutcome | undefined
  let isExplained = false

  const overall = (): OpenOutcome | undefined =>
    precedence.find((candidate) => [...states.values()].includes(candidate))
  const write = (outcome: OpenOutcome | undefined): void => {
    writeOutcome(outcome)
    written = outcome
  }

  return {
    report(destinationId, state) {
      states.set(destinationId, state)
      const now = overall()
      if (now !== written) write(now)
      noteResult(destinationId, state)
    },
    end(destinationId) {
      states.delete(destinationId)
      const left = overall()
      if (--open > 0 && left !== written && patched('outcome-of-those-left')) write(left)
    },
    explain({ reason, until, isDown = false }) {
      isExplained ||= isDown
      if (isExplained) upsertMemo({ reason, nextAttemptAt: new Date(until).toISOString() })
    },
  }
}

/** @param outcome  undefined where nothing is to be told any more */
export function writeOutcome(outcome: OutcomeAttribute | undefined): void {
  upsertSearchAttributes([{ key: { name, type: 'KEYWORD' }, value: outcome ?? null }])
}
