/** The local activities by which a workflow reads or notes something, one at a time. */

import { patched } from '@temporalio/workflow'

/** Begins a local activity when those before it have ended. */
export type InTurn = <Result>(begin: () => Promise<Result>) => Promise<Result>

/** The turns of one workflow. Local activities that run side by side end one after the other, and in a replay all at once: what follows from
 *  them would come in another order then. In workflows that began with an early version they run side by side. */
export function createTurns(): InTurn {
  let newest: Promise<unknown> = Promise.resolve()
  let underWay = 0
  return (begin) => {
    const mustWait = underWay > 0 && patched('local-activities-one-at-a-time')
    const result = mustWait ? newest.then(begin) : begin()
    const noteEnd = (): void => void underWay--
    underWay++
    newest = result.then(noteEnd, noteEnd)
    return result
  }
}
