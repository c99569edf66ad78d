import { MembershipError } from './membership-error.ts'
import type { StagedRows } from './stage-members.ts'

/** Why a membership is not taken over; undefined when no more of its rows are bad than may be.
 *  @param maxShare  share of its rows that may be bad, from 0 to 1 */
export function badRowsRefusal(
  { rowsRead, badRows, badRowSample: [first] }: StagedRows,
  maxShare: number,
): MembershipError | undefined {
  if (badRows <= maxShare * rowsRead) return undefined
  const example = first === undefined ? '' : `; line ${first.line}: ${first.reason}`
  return new MembershipError(`${badRows} of ${rowsRead} rows are bad${example}`)
}
