/** From rows as they are read to groups in the staging table, in bounded memory. */

import type { BadRow } from '../schemas/audience.ts'
import type { MemberRow, Reading } from './member-row.ts'
import { MembershipError } from './membership-error.ts'

/** Rows that are written at once. */
export const stagingGroupSize = 2_000
/** Bad rows that are reported with their line. */
export const maxBadRowSample = 100
/** Most rows of one membership. */
export const maxMembershipRows = 50_000_000

export interface StagedRows {
  rowsRead: number
  badRows: number
  badRowSample: BadRow[]
}

/** Writes members as they are read, each group while the next one is read. Of two rows about one user the last counts.
 *  @param write  adds rows to the staging table, replacing earlier ones about the same users
 *  @param onGroup  called after each group
 *  @throws MembershipError when there are too many rows */
export async function stageMembers(
  readings: AsyncIterable<Reading[]>,
  write: (rows: MemberRow[]) => Promise<void>,
  onGroup: (soFar: StagedRows) => Promise<void> | void = () => {},
): Promise<StagedRows> {
  const staged: StagedRows = { rowsRead: 0, badRows: 0, badRowSample: [] }
  let group = new Map<string, MemberRow>()
  let writing: Promise<void> = Promise.resolve()

  const take = (reading: Reading): void => {
    staged.rowsRead++
    if ('row' in reading) {
      group.set(reading.row.userId, reading.row)
      return
    }
    staged.badRows++
    if (staged.badRowSample.length < maxBadRowSample)
      staged.badRowSample.push({ line: reading.line, reason: reading.fault })
  }
  const flush = async (): Promise<void> => {
    await writing
    const rows = [...group.values()]
    group = new Map()
    writing = (async () => {
      if (rows.length > 0) await write(rows)
      await onGroup(staged)
    })()
    // It is awaited before the next group; until then its failure is nobody's.
    writing.catch(() => undefined)
  }

  try {
    for await (const some of readings) {
      for (const reading of some) take(reading)
      if (staged.rowsRead > maxMembershipRows) throw new MembershipError(`it has more than ${maxMembershipRows} rows`)
      if (group.size >= stagingGroupSize) await flush()
    }
    await flush()
    await writing
    return staged
  } catch (error) {
    // What is written after the caller removed the staged rows would stay for ever.
    await writing.catch(() => undefined)
    throw error
  }
}
