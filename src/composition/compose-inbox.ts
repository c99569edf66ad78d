/** The inbox of a node: what writes events to it, and who takes them out. */

import { turnIdOf, type NewInboxEvent } from '../db/inbox.ts'
import type { UserKeys } from '../deletions/user-keys.ts'
import { createInboxTurns, takesSome, type Readiness } from '../intake/inbox-turns.ts'
import { createInboxWriter, type InboxWriter } from '../intake/inbox-writer.ts'
import { usersOf } from '../temporal/start-parcel.ts'
import { composeDrain, watchInbox, type DrainDependencies } from './compose-drain.ts'

export interface InboxServices {
  writer: InboxWriter
  /** To be called when events need not wait for others any more. */
  wake: () => void
  /** Lets the starts under way finish; what was not started stays in the inbox. */
  stop(): Promise<void>
}

export interface InboxServicesDependencies extends Omit<DrainDependencies, 'inboxTurns' | 'giveWay'> {
  userKeys: Pick<UserKeys, 'draft'>
  /** Whether the endpoints of some destinations take attempts now. */
  readiness: (destinationIds: readonly string[]) => Readiness
}

export function composeInbox(dependencies: InboxServicesDependencies): InboxServices {
  const { config, database, readiness, readinessOf } = dependencies
  const inboxTurns = createInboxTurns(database, readiness)
  const compose = config.roles.worker ? composeDrain : watchInbox
  const giveWay = async (): Promise<number> => {
    const callers = await writer.written()
    // Where that many events wait, callers get ahead no further.
    return writer.isHalfFull() ? 0 : callers
  }
  const drain = compose({ ...dependencies, inboxTurns, giveWay })
  const wakeIfReady = (events: readonly NewInboxEvent[]): void => {
    const targets = new Map(events.map(({ input }) => [turnIdOf(input), input.targets]))
    if ([...targets.values()].some((of) => takesSome(readinessOf(of)))) drain.wake()
  }
  const writer = createInboxWriter({
    database,
    inboxMax: config.inboxMax,
    turns: inboxTurns,
    draftKeys: (events) => dependencies.userKeys.draft(usersOf(events.map(({ input }) => input))),
    onWritten: wakeIfReady,
    parcels: drain.parcels,
  })
  return { writer, wake: drain.wake, stop: () => drain.stop() }
}
