/** The search attribute that tells where a delivery stands at each of its destinations, written only where they differ: otherwise its
 *  status as a whole says it. */

import { patched, upsertSearchAttributes } from '@temporalio/workflow'
import type { HeldEventInput, DestinationStanding, ResultAttribute } from '../src/contracts/delivery.ts'
import { resultAt, type SearchAttributeName } from '../src/contracts/names.ts'

const name: SearchAttributeName = 'PostriderResults'

/** To be called when the state of a destination changes, first of all when its first attempts were made. What came together is
 *  written together, by one visibility update. */
export type NoteResult = (destinationId: string, result: ResultAttribute) => void

export function createResultsReport({ targets, resumed }: Pick<HeldEventInput, 'targets' | 'resumed'>): NoteResult {
  const results = new Map<string, ResultAttribute>(resumed?.map(stateOf))
  // An earlier run may have written something that this one does not know.
  let written = resumed === undefined ? undefined : ''
  let isDue = false

  const write = (): void => {
    isDue = false
    if (results.size < targets.length) return
    if (written === undefined && new Set(results.values()).size === 1) return
    const values = [...results].map(([destinationId, result]) => resultAt(destinationId, result))
    if (values.join() === written || !patched('results-in-attribute')) return
    upsertSearchAttributes([{ key: { name, type: 'KEYWORD_LIST' }, value: values }])
    written = values.join()
  }

  return (destinationId, result) => {
    results.set(destinationId, result)
    if (isDue || targets.length === 1) return
    isDue = true
    void Promise.resolve().then(write)
  }
}

const stateOf = (standing: DestinationStanding): [string, ResultAttribute] =>
  standing.kind === 'held' ? [standing.destinationId, 'held'] : [standing.result.destinationId, standing.result.outcome]
