/** `postrider deletion-requests`: users whose deletion destinations are told of. */

import { answerOf } from '@postrider/api'
import { Command } from 'commander'
import type { DeletionRequestDetail, LiftedSuppressions } from '../schemas/deletion-request.ts'
import type { Api } from './shared/api.ts'
import { findSource, listAll, listSources, namesOf, withDeleted } from './shared/lookup.ts'
import { collect, wholeNumber } from './shared/options.ts'
import { facts, table, type Output } from './shared/output.ts'
import { confirm } from './shared/prompt.ts'
import { openSession } from './shared/session.ts'

/** Most requests that one `list` shows. */
const maxListed = 10_000

/** @param sources  whose names are shown */
const show = (request: DeletionRequestDetail, sources: readonly { id: string; name: string }[]): string =>
  facts({
    id: request.id,
    status: request.status,
    created: request.createdAt,
    ended: request.endedAt,
    users: request.users,
    sources: namesOf(request.sourceIds, sources),
    'later events': request.suppress ? 'dropped' : 'delivered',
    notifications: `${request.notifications}, of them ${request.started} started and ${request.skipped} skipped`,
    delivered: request.delivered,
    failed: request.failed,
    erased: request.erasedAt ?? 'not yet: when the last notification has ended',
    'keys destroyed': request.keys,
  })

async function tell(api: Api, out: Output, request: DeletionRequestDetail): Promise<void> {
  const sources = out.isJson ? [] : await withDeleted(api, request.sourceIds, await listSources(api))
  out.result(request, (one) => show(one, sources))
}

const showLifted = ({ lifted, remaining }: LiftedSuppressions): string =>
  [
    lifted === 0
      ? 'None of them was suppressed there.'
      : `Events of ${users(lifted)} are delivered again, from now on.`,
    ...(remaining === 0 ? [] : [`Still suppressed in all sources: ${users(remaining)}. Lift that without --source.`]),
  ].join('\n')

const users = (count: number): string => (count === 1 ? '1 user' : `${count} users`)

/** Ids of the sources that are named; undefined where none are. */
const sourceIdsOf = async (api: Api, named: string[] | undefined): Promise<string[] | undefined> =>
  named && (await Promise.all(named.map((one) => findSource(api, one)))).map(({ id }) => id)

export function deletionRequestsCommand(): Command {
  const command = new Command('deletion-requests').description('tell destinations that users are to be deleted')

  command
    .command('list')
    .description('show deletion requests, newest first')
    .option('--limit <number>', 'most requests to show, 1 to 10000', wholeNumber(1, maxListed), 50)
    .action(async ({ limit }: { limit: number }, self: Command) => {
      const { api, out } = await openSession(self)
      out.result(
        { items: await listAll((query) => api.GET('/deletion-requests', { params: { query } }), limit) },
        ({ items }) =>
          table(
            ['id', 'status', 'created', 'users', 'notifications', 'started', 'erased', 'keys'],
            items.map((one) => [
              one.id,
              one.status,
              one.createdAt,
              one.users,
              one.notifications,
              one.started,
              one.erasedAt,
              one.keys,
            ]),
            'No deletion requests yet. Create one with: postrider deletion-requests create <user>',
          ),
      )
    })

  command
    .command('show')
    .argument('<id>', 'id of the request')
    .description('show a deletion request and what became of its notifications')
    .action(async (id: string, _options: unknown, self: Command) => {
      const { api, out } = await openSession(self)
      await tell(api, out, await answerOf(api.GET('/deletion-requests/{id}', { params: { path: { id } } })))
    })

  command
    .command('create')
    .argument('<user...>', 'ids of users')
    .description('tell every destination of the sources that these users are to be deleted')
    .option('--source <source>', 'only this source, by id or name (repeat for several)', collect)
    .option('--suppress', 'also drop later events of these users')
    .option('--yes', 'do not ask for confirmation')
    .action(async (userIds: string[], options: { source?: string[]; suppress?: true; yes?: true }, self: Command) => {
      const { api, out } = await openSession(self)
      const sourceIds = await sourceIdsOf(api, options.source)
      const whom = userIds.length === 1 ? 'this user' : `these ${userIds.length} users`
      await confirm(`Tell the destinations to delete ${whom}? It cannot be taken back.`, options)
      const body = { userIds, sourceIds, suppress: options.suppress }
      await tell(api, out, await answerOf(api.POST('/deletion-requests', { body })))
    })

  command
    .command('lift')
    .argument('<user...>', 'ids of users')
    .description('deliver later events of these users again, which `create --suppress` has dropped')
    .option('--source <source>', 'only from this source, by id or name (repeat for several)', collect)
    .action(async (userIds: string[], options: { source?: string[] }, self: Command) => {
      const { api, out } = await openSession(self)
      const body = { userIds, sourceIds: await sourceIdsOf(api, options.source) }
      out.result(await answerOf(api.POST('/suppressions/lift', { body })), showLifted)
    })
  return command
}
