/** The newest events of sources, whatever became of them: from deliveries as long as Temporal keeps them, and from what no destination took,
 *  which is kept for a day. */

import type { Database } from '../db/database.ts'
import { getTurnedAway, listTurnedAway } from '../db/turned-away.ts'
import { AppError } from '../errors.ts'
import type { RecordedEvent } from '../rehearsal/rehearse.ts'
import { MessageBodySchema } from '../schemas/message.ts'
import { filteredByRules, type TurnedAwayFilter } from '../schemas/turned-away.ts'
import type { WhilePresent } from '../within.ts'
import type { DeliveryLog } from './delivery-log.ts'

/** Sources that are asked; of more, the first. */
const maxSources = 20

/** Events that are read at a time. */
const atATime = 5

/** An event that is listed, and how to read what it held. */
interface Listed extends Omit<RecordedEvent, 'message'> {
  read: () => Promise<unknown>
}

export interface RecordedEventsDependencies {
  database: Database
  deliveryLog: Pick<DeliveryLog, 'list' | 'read'>
}

/** Newest first. One whose content is gone, or was too long to be kept whole, is left out.
 *  @param limit  most events */
export async function readRecordedEvents(
  dependencies: RecordedEventsDependencies,
  sourceIds: readonly string[],
  limit: number,
  whilePresent: WhilePresent,
): Promise<RecordedEvent[]> {
  const lists = await Promise.all(
    sourceIds.slice(0, maxSources).map((sourceId) => listOfSource(dependencies, sourceId, limit, whilePresent)),
  )
  const newest = lists.flat().sort((one, other) => (one.at < other.at ? 1 : -1))
  const found: RecordedEvent[] = []
  const once = eachOnce(newest)
  for (let first = 0; first < once.length && found.length < limit; first += atATime) {
    const few = await Promise.all(once.slice(first, first + atATime).map(readEvent))
    found.push(...few.flatMap((event) => event ?? []))
  }
  return found.slice(0, limit)
}

async function listOfSource(
  { database, deliveryLog }: RecordedEventsDependencies,
  sourceId: string,
  limit: number,
  whilePresent: WhilePresent,
): Promise<Listed[]> {
  const turnedAway = async (filter: Pick<TurnedAwayFilter, 'fate' | 'reason'>) =>
    listTurnedAway(database, { sourceId, ...filter }, { limit })
  const [deliveries, filtered, nowhere] = await Promise.all([
    deliveryLog.list({ sourceId }, { limit }, whilePresent),
    // Those that their own `integrations` member kept from all destinations go to none, whatever its filter is.
    turnedAway({ fate: 'filtered', reason: filteredByRules }),
    turnedAway({ fate: 'no_destination' }),
  ])
  return [
    ...deliveries.items
      .filter(({ type }) => type !== 'delete')
      .map(({ id, messageId, startedAt }) => ({
        sourceId,
        messageId,
        at: startedAt,
        read: async () => (await deliveryLog.read(id, whilePresent)).message,
      })),
    ...[...filtered.items, ...nowhere.items].map(({ id, messageId, at }) => ({
      sourceId,
      messageId: messageId ?? id,
      at,
      read: async () => JSON.parse((await getTurnedAway(database, id)).body ?? 'null') as unknown,
    })),
  ]
}

/** An event that was delivered again, or sent twice, counts once. */
function eachOnce(events: readonly Listed[]): Listed[] {
  const known = new Set<string>()
  return events.filter(({ sourceId, messageId }) => {
    const id = `${sourceId}/${messageId}`
    return !known.has(id) && known.add(id)
  })
}

async function readEvent({ read, ...event }: Listed): Promise<RecordedEvent | undefined> {
  try {
    const message = MessageBodySchema.safeParse(await read())
    return message.success ? { ...event, message: message.data } : undefined
  } catch (error) {
    // It went meanwhile, or its beginning alone is kept, which is no JSON.
    if ((error instanceof AppError && error.code === 'not_found') || error instanceof SyntaxError) return undefined
    throw error
  }
}
