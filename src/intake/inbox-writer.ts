/** Writes events to the inbox in groups: what arrives while one group is written, and shortly after, makes up the next. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../db/database.ts'
import { addToInbox, countInbox, inboxDepth, turnIdOf, type NewInboxEvent } from '../db/inbox.ts'
import { AppError } from '../errors.ts'
import { within } from '../within.ts'
import type { InboxTurns } from './inbox-turns.ts'
import { maxSingles, type ParcelStarts } from './start-parcels.ts'

/** Events in one statement. */
const maxGroup = 1_000

/** How long a group is gathered, in milliseconds: a statement costs more than the events in it, and those who were just
 *  answered post their next ones about now. */
const gatherMs = 4

/** Events of callers that wait for their group; more are turned away until some are written. */
const maxWaiting = 20_000

/** How long a measured depth is believed, in milliseconds, and at least as a multiple of the time that it took: counting a
 *  full inbox takes a share of the database's time and no more. What is written meanwhile is added to it. */
const depthAgeMs = 1_000
const depthAgePerCount = 20

/** How long a group may take, in milliseconds. Whoever waits for it, or behind it, is then told that the database is away:
 *  Temporal may take their events. */
const writeLimitMs = 5_000

/** For so long after a group that failed nobody tries again, in milliseconds; then one group finds out. */
const restMs = 1_000

/** When a caller that found the inbox full should come again, in seconds. */
const retryAfterSeconds = 5

export interface InboxWriter {
  /** Resolves once the events are in the table.
   *  @returns how many were there already
   *  @throws AppError inbox_full; what the database throws when it is away, at once when that is known. Events may then be in
   *  the table all the same, later */
  write(events: NewInboxEvent[]): Promise<number>
  /** Whether half of the events that may wait do, as far as is known: it is looked at when events are written. */
  isHalfFull: () => boolean
  /** Whether events of a turn may wait. */
  mayWait: (turn: string) => boolean
  /** Resolves when the group that is being written is through; at once when nobody waits. */
  written: () => Promise<void>
}

interface Waiting {
  events: NewInboxEvent[]
  resolve: (duplicates: number) => void
  reject: (error: unknown) => void
}

export interface InboxWriterDependencies {
  database: Database
  inboxMax: number
  turns: Pick<InboxTurns, 'isNewcomer' | 'mayWait' | 'noteCome' | 'noteWriting'>
  /** Told after each group that left something new in the inbox. */
  onWritten: (events: readonly NewInboxEvent[]) => void
  /** Takes events that need not wait; undefined when events never share a workflow. */
  parcels: Pick<ParcelStarts, 'hasRoom' | 'waiting' | 'write'> | undefined
}

export function createInboxWriter(dependencies: InboxWriterDependencies): InboxWriter {
  const { database, inboxMax, turns, onWritten, parcels } = dependencies
  const queue: Waiting[] = []
  let waitingEvents = 0
  let underWay: Promise<void> | undefined
  let depth = 0
  let believedUntil = -Infinity
  /** Why the last group failed. */
  let failure: Error | undefined
  let restUntil = -Infinity

  const readDepth = async (): Promise<void> => {
    const begun = performance.now()
    if (begun < believedUntil) return
    const atMost = await inboxDepth(database)
    depth = atMost < inboxMax / 2 ? atMost : await countInbox(database, inboxMax)
    believedUntil = performance.now() + Math.max(depthAgeMs, depthAgePerCount * (performance.now() - begun))
  }

  const takeGroup = (): Waiting[] => {
    const group: Waiting[] = []
    for (let size = 0; queue.length > 0 && (size === 0 || size + (queue[0]?.events.length ?? 0) <= maxGroup);) {
      const next = queue.shift()
      if (next === undefined) break
      group.push(next)
      size += next.events.length
    }
    return group
  }

  /** Refuses callers whose events do not fit any more. @returns the others */
  const admit = (group: Waiting[]): Waiting[] => {
    let room = inboxMax - depth - (parcels?.waiting() ?? 0)
    return group.filter(({ events, reject }) => {
      const fits = events.length <= room
      if (fits) room -= events.length
      else reject(inboxFull(`${inboxMax} events wait for their delivery to start`))
      return fits
    })
  }

  const fill = async (group: Waiting[]): Promise<void> => {
    await readDepth()
    const admitted = admit(group)
    const events = admitted.flatMap((waiting) => waiting.events)
    if (events.length === 0) return
    const added = await writeEvents(events)
    // Which of the group's events were duplicates does not matter: they are only counted.
    admitted.forEach(({ resolve }, index) => resolve(index === 0 ? events.length - added : 0))
  }

  /** Newcomers go straight into parcels, where they are many or others wait. */
  const writeEvents = async (events: NewInboxEvent[]): Promise<number> => {
    const turnIds = new Set(events.map(({ input }) => turnIdOf(input)))
    const newIds = new Set([...turnIds].filter((id) => turns.isNewcomer(id)))
    for (const id of turnIds) turns.noteCome(id)
    const isNew = ({ input }: NewInboxEvent): boolean => newIds.has(turnIdOf(input))
    const newcomers = events.filter(isNew)
    const travelsAlone = newcomers.length <= maxSingles && depth === 0
    if (newcomers.length === 0 || travelsAlone || parcels?.hasRoom(newcomers) !== true) return writeToInbox(events)
    const others = events.filter((event) => !isNew(event))
    return (await parcels.write(newcomers)) + (await writeToInbox(others))
  }

  const writeToInbox = async (events: NewInboxEvent[]): Promise<number> => {
    if (events.length === 0) return 0
    const noteEnd = turns.noteWriting(events.map(({ input }) => turnIdOf(input)))
    const added = await addToInbox(database, events).finally(noteEnd)
    depth += added
    if (added > 0) onWritten(events)
    return added
  }

  const writeGroup = async (group: Waiting[]): Promise<void> => {
    waitingEvents -= sizeOf(group)
    try {
      await within(writeLimitMs, 'the database', fill(group))
      failure = undefined
    } catch (error) {
      failure = error as Error
      restUntil = performance.now() + restMs
      const behind = queue.splice(0)
      waitingEvents -= sizeOf(behind)
      for (const { reject } of [...group, ...behind]) reject(error)
    }
  }

  const writeGroups = async (): Promise<void> => {
    while (queue.length > 0) {
      underWay = sleep(gatherMs).then(() => writeGroup(takeGroup()))
      await underWay
    }
    underWay = undefined
  }

  return {
    write(events) {
      if (failure !== undefined && (underWay !== undefined || performance.now() < restUntil))
        return Promise.reject(failure)
      if (waitingEvents + events.length > maxWaiting)
        return Promise.reject(inboxFull('more events arrive than the database can take'))
      waitingEvents += events.length
      return new Promise((resolve, reject) => {
        queue.push({ events, resolve, reject })
        if (underWay === undefined) void writeGroups()
      })
    },
    isHalfFull: () => depth >= inboxMax / 2,
    mayWait: turns.mayWait,
    written: async () => underWay,
  }
}

const sizeOf = (group: readonly Waiting[]): number => group.reduce((size, { events }) => size + events.length, 0)

const inboxFull = (message: string): AppError => new AppError('inbox_full', message, { retryAfterSeconds })
