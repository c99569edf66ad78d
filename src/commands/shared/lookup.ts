/** Finding things by id or name. */

import { answerOf, type Called } from '@postrider/api'
import type { AlertChannel } from '../../schemas/alert.ts'
import type { Audience } from '../../schemas/audience.ts'
import { maxDeletedIds } from '../../schemas/deleted-name.ts'
import type { DestinationView } from '../../schemas/destination.ts'
import type { Source } from '../../schemas/source.ts'
import type { Api } from './api.ts'
import { CommandError } from './failure.ts'

const pageSize = 200

/** Most items of one list; far more than an installation has of what is listed whole. */
const maxItems = 20_000

interface Page {
  limit: number
  cursor?: string | undefined
}

/** All items of a list, or the first `limit` of them. */
export async function listAll<Item>(
  readPage: (page: Page) => Promise<Called<{ items: Item[]; nextCursor: string | null }>>,
  limit = maxItems,
): Promise<Item[]> {
  const items: Item[] = []
  let cursor: string | undefined
  do {
    const answer = await answerOf(readPage({ limit: Math.min(pageSize, limit - items.length), cursor }))
    items.push(...answer.items)
    cursor = answer.nextCursor ?? undefined
  } while (cursor !== undefined && items.length < limit)
  return items
}

export const listSources = (api: Api): Promise<Source[]> =>
  listAll((query) => api.GET('/sources', { params: { query } }))
export const listDestinations = (api: Api): Promise<DestinationView[]> =>
  listAll((query) => api.GET('/destinations', { params: { query } }))
export const listAudiences = (api: Api): Promise<Audience[]> =>
  listAll((query) => api.GET('/audiences', { params: { query } }))

export const listAlertChannels = async (api: Api): Promise<AlertChannel[]> =>
  (await answerOf(api.GET('/alert-channels'))).items

export const findSource = async (api: Api, wanted: string): Promise<Source> =>
  pick('source', await listSources(api), wanted)
export const findDestination = async (api: Api, wanted: string): Promise<DestinationView> =>
  pick('destination', await listDestinations(api), wanted)
export const findAudience = async (api: Api, wanted: string): Promise<Audience> =>
  pick('audience', await listAudiences(api), wanted)

/** Commands that list what can be named. */
const listings = {
  source: 'sources list',
  destination: 'destinations list',
  audience: 'audiences list',
  channel: 'alerts channels',
  token: 'tokens list',
}

/** The item that has the id or, alone, the name.
 *  @throws CommandError (notFound) when none has, (failed) when several have the name */
export function pick<Item extends { id: string; name: string }>(
  kind: keyof typeof listings,
  items: Item[],
  wanted: string,
): Item {
  const byId = items.find(({ id }) => id === wanted)
  if (byId !== undefined) return byId
  const named = items.filter(({ name }) => name === wanted)
  const [found] = named
  if (found === undefined)
    throw new CommandError('notFound', `no ${kind} has the id or name ${wanted}; see: postrider ${listings[kind]}`)
  if (named.length === 1) return found
  const ids = named.map(({ id }) => id).join(', ')
  throw new CommandError('failed', `several ${kind}s have the name ${wanted}; give the id of one: ${ids}`)
}

/** What has the name now.
 *  @throws CommandError (failed) when several have it */
export function existing<Item extends { id: string; name: string }>(items: Item[], name: string): Item | undefined {
  const named = items.filter((item) => item.name === name)
  if (named.length > 1)
    throw new CommandError(
      'failed',
      `${named.map(({ id }) => id).join(' and ')} have the same name, ${name}: rename all but one first`,
    )
  return named[0]
}

/** Names of these ids, and of those that are not among the present things but were deleted.
 *  @param present  things that are there */
export async function withDeleted(
  api: Api,
  ids: readonly string[],
  present: readonly { id: string; name: string }[],
): Promise<{ id: string; name: string }[]> {
  const gone = [...new Set(ids)].filter((wanted) => !present.some(({ id }) => id === wanted)).slice(0, maxDeletedIds)
  if (gone.length === 0) return [...present]
  const { items } = await answerOf(api.GET('/deleted-names', { params: { query: { ids: gone.join(',') } } }))
  return [...present, ...items.map(({ id, name }) => ({ id, name: `${name} (deleted)` }))]
}

/** What things are called, in a line; of those that are gone, the ids. */
export const namesOf = (ids: readonly string[], things: readonly { id: string; name: string }[]): string =>
  ids.map((id) => things.find((known) => known.id === id)?.name ?? id).join(', ')
