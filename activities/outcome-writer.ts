/** Writes outcomes of all rounds that a node has under way together: each statement costs a sync to the disk. */

import type { ParcelRecord } from '../src/db/parcel-progress.ts'
import { inGroups } from '../src/in-groups.ts'

/** How long outcomes wait to be written while rounds go on, in milliseconds: what a node that dies did not write is sent again. */
const soonMs = 12

/** Most records that are written in one statement. */
const maxRecords = 10

export interface OutcomeWriter {
  /** Writes an account at once. */
  write: (record: ParcelRecord) => Promise<void>
  /** Writes an account 12 ms after the first that waits, and with it what has come of others by then.
   *  @param take  called when the statement begins */
  writeSoon: (take: () => ParcelRecord) => Promise<void>
  /** Writes at once all that waits. */
  hurry: () => void
}

/** @param write  writes accounts in one statement */
export function createOutcomeWriter(write: (records: readonly ParcelRecord[]) => Promise<void>): OutcomeWriter {
  let waiting: (() => void)[] = []
  let timer: NodeJS.Timeout | undefined
  const writeTogether = inGroups(
    (takes: readonly (() => ParcelRecord)[]) => write(takes.map((take) => take())),
    maxRecords,
  )

  const hurry = (): void => {
    clearTimeout(timer)
    timer = undefined
    const begins = waiting
    waiting = []
    for (const begin of begins) begin()
  }

  return {
    write(record) {
      const writing = writeTogether(() => record)
      hurry()
      return writing
    },
    writeSoon(take) {
      timer ??= setTimeout(hurry, soonMs)
      return new Promise((resolve) => {
        waiting.push(() => resolve(writeTogether(take)))
      })
    },
    hurry,
  }
}
