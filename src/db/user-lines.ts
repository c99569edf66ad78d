/** Lines of users: a destination may have the events of each user one after the other. What stands in a line waits in the inbox until
 *  those before it have ended, or for as long as it may; what was begun holds its place until it has ended. */

import { hash } from 'node:crypto'
import type { DeliverEventInput } from '../contracts/delivery.ts'
import { eventWorkflowId } from '../contracts/names.ts'
import type { MessageBody } from '../schemas/message.ts'
import type { Queryable, SqlValue } from './database.ts'

const lineLength = 22

/** The user that an event is of, for the order of their events; undefined where it names none. */
export const userInLine = ({ userId, anonymousId }: MessageBody): string | undefined =>
  userId ?? (typeof anonymousId === 'string' ? anonymousId : undefined)

/** Stands for a user of a source at a destination. */
const lineOf = (sourceId: string, destinationId: string, user: string): string =>
  hash('sha256', `${sourceId}\n${destinationId}\n${user}`, 'base64url').slice(0, lineLength)

/** Whether an event stands in a line. */
export const isInLine = ({ targets }: Pick<DeliverEventInput, 'targets'>): boolean =>
  targets.some(({ ticket }) => ticket !== undefined)

/** How long an event may wait for others, in milliseconds; undefined where it stands in no line. */
export function longestWaitMs({ targets }: Pick<DeliverEventInput, 'targets'>): number | undefined {
  const waits = targets.flatMap(({ ticket, orderWaitMs }) => (ticket === undefined ? [] : (orderWaitMs ?? 0)))
  return waits.length === 0 ? undefined : Math.max(...waits)
}

/** New places in lines as a table, of the values that `newPlaceValues` gives.
 *  @param first  number of the first of these values */
export const newPlaces = (first: number): string =>
  `unnest($${first}::text[], $${first + 1}::text[], $${first + 2}::text[], $${first + 3}::int[])
     as new_places(workflow_id, ticket, line, wait_ms)`

/** @param inputs  an event that comes twice has the places of the first */
export function newPlaceValues(inputs: readonly DeliverEventInput[]): SqlValue[] {
  const events = new Map(
    [...inputs].reverse().map((input) => [eventWorkflowId(input.sourceId, input.messageId), input]),
  )
  const places = [...events].flatMap(([workflowId, { sourceId, message, targets }]) =>
    targets.flatMap(({ destinationId, ticket, orderWaitMs = 0 }) => {
      const user = userInLine(message)
      if (ticket === undefined || user === undefined) return []
      return [{ workflowId, ticket, line: lineOf(sourceId, destinationId, user), waitMs: orderWaitMs }]
    }),
  )
  return [
    places.map(({ workflowId }) => workflowId),
    places.map(({ ticket }) => ticket),
    places.map(({ line }) => line),
    places.map(({ waitMs }) => waitMs),
  ]
}

/** Whether one is before an event of the inbox that holds it up, by a condition on its place, `ahead`: the first of each of its lines is looked
 *  at first. `offset 0` keeps the database from asking it of all events at once, which is the slower, the more of them there are.
 *  @param holdsUp  the condition */
const hasAhead = (holdsUp: string): string => `exists (
  select from user_lines as mine cross join lateral (
    select from user_lines as ahead where ahead.line = mine.line and ahead.seq < mine.seq and ${holdsUp}
    order by ahead.seq limit 1) as another
  where mine.seq = inbox.seq offset 0)`

/** An event of the inbox that has nothing to wait for: nobody of its lines is before it, in the inbox or under way, or it has waited for as
 *  long as it may. What is under way is waited for from its beginning on. */
export const isNextInLine = `(waits_until is null or waits_until < now() or not ${hasAhead(`coalesce(
    (select earlier.settled_at is null from inbox as earlier where earlier.seq = ahead.seq),
    ahead.taken_at > now() - make_interval(secs => mine.wait_ms / 1000.0))`)})`

/** The same, and found fast: of those that are known to be behind others here, however many they are, nothing more is asked. */
export const mayStart = `not is_behind and ${isNextInLine}`

/** The input of an event of the inbox that is about to start: it says so where one before it has not ended, as it has waited for as long as
 *  it may. It is written as text, for the order of its members counts. */
export const startedInput = `case when inbox.waits_until is not null and ${hasAhead(`coalesce(
    (select earlier.settled_at is null from inbox as earlier where earlier.seq = ahead.seq), ahead.taken_at is not null)`)}
  then (left(inbox.input::text, -1) || ',"isOutOfOrder":true}')::json else inbox.input end as input`

/** Marks new events of the inbox that stand behind others which wait there, so that looks for what may start pass over them. As those before
 *  them are taken or go, triggers wake them: who does either waits for a mark that is being made, and who is about to is not counted on. */
export async function markBehind(database: Queryable, seqs: readonly string[]): Promise<void> {
  await database.query(
    `with found as (
       select new.seq from unnest($1::bigint[]) as new(seq)
         cross join lateral (select line, seq from user_lines where user_lines.seq = new.seq offset 0) as mine
         cross join lateral (
           select seq from user_lines as ahead
           where ahead.line = mine.line and ahead.seq < mine.seq and takes < 1
           order by seq limit 1 for share skip locked) as another
       where exists (select from inbox where inbox.seq = another.seq and settled_at is null offset 0)),
     behind as (
       select seq from inbox where seq = any(array(select seq from found)) and settled_at is null and waits_until > now()
       order by seq for no key update skip locked)
     update inbox set is_behind = true from behind where inbox.seq = behind.seq`,
    [[...seqs]],
  )
}

/** Wakes events that have waited behind others for as long as they may.
 *  @param limit  at most so many */
export async function wakeExpired(database: Queryable, limit: number): Promise<void> {
  await database.query(
    `update inbox set is_behind = false where seq in (
       select seq from inbox where is_behind and waits_until < now()
       order by waits_until limit $1 for no key update skip locked)`,
    [limit],
  )
}

/** That a place is one of these: they are locked in the order in which all lock several. As an array, they are looked up one by one, whatever
 *  the database takes for their number.
 *  @param places  what is selected from */
const isAmong = (places: string): string =>
  `ticket = any(array(select ticket from ${places} order by seq, ticket for update of user_lines))`

/** That a place is that of an event.
 *  @param events  a table of the events, with their places by arrival
 *  @param which  condition on the events */
const isPlaceOf = (events: string, which = 'true'): string =>
  isAmong(`user_lines join ${events} using (seq) where ${which}`)

/** Takes note that deliveries are begun.
 *  @param taken  a table of the events, with their places by arrival and until when they may wait */
export const noteTaken = (taken: string): string =>
  `update user_lines set taken_at = now(), takes = takes + 1 where ${isPlaceOf(taken, 'waits_until is not null')}`

/** Takes back the note that deliveries are begun: their start was not tried.
 *  @param released  a table as `noteTaken` has it */
export const noteUntaken = (released: string): string =>
  `update user_lines set takes = takes - 1, taken_at = case when takes > 1 then taken_at end
   where ${isPlaceOf(released, 'waits_until is not null')}`

/** Gives up the places of events that are no more.
 *  @param gone  a table of the events, with their places by arrival */
export const leaveLinesOf = (gone: string): string => `delete from user_lines where ${isPlaceOf(gone)}`

/** Gives up places: whoever is behind them goes. */
export async function leaveLines(database: Queryable, tickets: readonly string[]): Promise<void> {
  await database.query(`delete from user_lines where ${isAmong('user_lines where ticket = any($1::text[])')}`, [
    [...tickets],
  ])
}

/** Gives up the places of events that turned out to be repeats: the first of them has a place of its own, or has ended. One that was begun
 *  more often may be under way itself, as its node was lost. */
export async function leaveLinesOfRepeats(database: Queryable, seqs: readonly string[]): Promise<void> {
  await database.query(`delete from user_lines where takes = 1 and ${isPlaceOf('unnest($1::bigint[]) as gone(seq)')}`, [
    [...seqs],
  ])
}

/** Removes places of what has ended without a word, and that nobody waits for any more: nobody waits longer than a day. */
export async function removeLostPlaces(database: Queryable): Promise<void> {
  await database.query(
    `delete from user_lines where coalesce(taken_at, '-infinity') < now() - interval '1 day'
       and not exists (select from inbox where inbox.seq = user_lines.seq and settled_at is null)`,
  )
}
