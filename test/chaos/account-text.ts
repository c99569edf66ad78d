/** The account of a chaos run, for people. */

import type { ChaosResult } from './run.ts'

export function accountText(result: ChaosResult): string {
  const often = Object.entries(result.deliveredOften).map(([times, ids]) => `${ids} ${times} times`)
  const listed = Object.entries(result.listed).map(([status, ids]) => `${ids} ${status}`)
  return [
    ...repeatsByFault(result),
    `acknowledged ${result.acknowledged}: delivered once ${result.deliveredOnce}, more often ${often.join(', ') || 0}, ` +
      `in the list ${listed.join(', ') || 0}, LOST ${result.lost.length}`,
    `repeats in all: ${result.repeats}, of which ${result.unexplained.length} are none of what a killed node had under way`,
    `unacknowledged ${result.unacknowledged}, of which ${result.unacknowledgedDelivered} were delivered`,
    result.settledAfterMs === undefined
      ? 'not all had arrived when the time was over'
      : `all had arrived ${(result.settledAfterMs / 1_000).toFixed(0)} s after the end`,
    ...result.lost.slice(0, 20).map((messageId) => `LOST ${messageId}`),
  ].join('\n')
}

/** From one fault to the next; the last one's reach to the end of the run. */
function repeatsByFault({ faults, repeated }: ChaosResult): string[] {
  return faults.flatMap(({ name, begunAt }, place) => {
    const next = faults[place + 1]?.begunAt ?? Infinity
    const here = repeated.filter(({ at }) => at >= begunAt && at < next)
    return here.length === 0 ? [] : [`after ${name}: ${here.length} repeats`]
  })
}
