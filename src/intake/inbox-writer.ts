/** Writes events to the inbox, as long as there is room; those that need not wait there go straight into parcels. */

import type { Database } from '../db/database.ts'
import type { KeyDraft } from '../db/user-keys.ts'
import { addToInbox, turnIdOf, type NewInboxEvent } from '../db/inbox.ts'
import { isInLine } from '../db/user-lines.ts'
import { groupEvents, inboxFull, type Caller, type EventGroups } from './group-events.ts'
import { createInboxDepth } from './inbox-depth.ts'
import type { InboxTurns } from './inbox-turns.ts'
import { maxSingles, type ParcelStarts } from './start-parcels.ts'

/** While so many events wait, keys of users are written with theirs. The keys of more would not be in memory any more when the events start,
 *  and be made for nothing where these are called off. */
const maxWithKeys = 10_000

export interface InboxWriter {
  /** Resolves once the events are in the table.
   *  @returns how many were there already
   *  @throws AppError inbox_full; what the database throws when it is away, at once when that is known. Events may then be in
   *  the table all the same, later */
  write: EventGroups['write']
  /** Whether half of the events that may wait do, as far as is known: it is looked at when events are written. */
  isHalfFull: () => boolean
  /** Whether events of a turn may wait. */
  mayWait: (turn: string) => boolean
  /** Resolves when the group that is being written is through; at once when nobody waits. It answers how many callers it had. */
  written: EventGroups['written']
}

export interface InboxWriterDependencies {
  database: Database
  inboxMax: number
  turns: Pick<InboxTurns, 'isNewcomer' | 'mayWait' | 'noteCome' | 'noteWriting'>
  /** Told after each group that left something new in the inbox. */
  onWritten: (events: readonly NewInboxEvent[]) => void
  /** Keys of the users of events that are about to be written. */
  draftKeys: (events: readonly NewInboxEvent[]) => KeyDraft
  /** Takes events that need not wait; undefined when events never share a workflow. */
  parcels: Pick<ParcelStarts, 'hasRoom' | 'waiting' | 'write'> | undefined
}

export function createInboxWriter(dependencies: InboxWriterDependencies): InboxWriter {
  const { database, inboxMax, turns, draftKeys, onWritten, parcels } = dependencies
  const depth = createInboxDepth(database, inboxMax)

  const writeToInbox = async (events: NewInboxEvent[]): Promise<number> => {
    if (events.length === 0) return 0
    const noteEnd = turns.noteWriting(events.map(({ input }) => turnIdOf(input)))
    const draft = depth.known() < maxWithKeys ? draftKeys(events) : undefined
    const added = await addToInbox(database, events, draft).finally(noteEnd)
    depth.add(added)
    if (added > 0) onWritten(events)
    return added
  }

  /** Newcomers go straight into parcels, where they are many or others wait. */
  const writeEvents = async (events: NewInboxEvent[]): Promise<number> => {
    const { newcomers, others } = splitByTurn(events, turns)
    const travelsAlone = newcomers.length <= maxSingles && depth.known() === 0
    if (newcomers.length === 0 || travelsAlone || parcels?.hasRoom(newcomers) !== true) return writeToInbox(events)
    return (await parcels.write(newcomers)) + (await writeToInbox(others))
  }

  const writeGroup = async (group: Caller[]): Promise<void> => {
    await depth.look()
    const room = inboxMax - depth.known() - (parcels?.waiting() ?? 0)
    const admitted = admit(group, room, `${inboxMax} events wait for their delivery to start`)
    const events = admitted.flatMap((caller) => caller.events)
    if (events.length === 0) return
    const added = await writeEvents(events)
    // Which of the group's events were duplicates does not matter: they are only counted.
    admitted.forEach(({ resolve }, index) => resolve(index === 0 ? events.length - added : 0))
  }

  const groups = groupEvents(writeGroup)
  return {
    ...groups,
    isHalfFull: () => depth.known() >= inboxMax / 2,
    mayWait: turns.mayWait,
  }
}

/** Refuses callers whose events do not fit any more.
 *  @param room  how many events fit
 *  @returns the others */
function admit(group: readonly Caller[], room: number, whyNot: string): Caller[] {
  let left = room
  return group.filter(({ events, reject }) => {
    const fits = events.length <= left
    if (fits) left -= events.length
    else reject(inboxFull(whyNot))
    return fits
  })
}

/** Tells events of which nothing waits, nor came a moment ago, from the others, and notes that all came. What stands in a line is one of the
 *  others. */
function splitByTurn(events: readonly NewInboxEvent[], turns: Pick<InboxTurns, 'isNewcomer' | 'noteCome'>) {
  const turnIds = new Set(events.map(({ input }) => turnIdOf(input)))
  const newIds = new Set([...turnIds].filter((id) => turns.isNewcomer(id)))
  for (const id of turnIds) turns.noteCome(id)
  const newcomers: NewInboxEvent[] = []
  const others: NewInboxEvent[] = []
  for (const event of events)
    (newIds.has(turnIdOf(event.input)) && !isInLine(event.input) ? newcomers : others).push(event)
  return { newcomers, others }
}
