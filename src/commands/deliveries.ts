/** `postrider deliveries`: what became of the events. */

import { answerOf } from '@postrider/api'
import { Command } from 'commander'
import { countDeliveries, readFilter, withFilters, type FilterOptions } from './shared/delivery-filter.ts'
import { attemptEvidence, deliveryFacts, deliveryTable } from './shared/delivery-text.ts'
import { listAll, listDestinations, withDeleted } from './shared/lookup.ts'
import { wholeNumber } from './shared/options.ts'
import { printableJson } from './shared/output.ts'
import { openSession } from './shared/session.ts'
import { steerCommand } from './deliveries-steer.ts'

/** Most deliveries that one `list` shows. */
const maxListed = 10_000

export function deliveriesCommand(): Command {
  const command = new Command('deliveries').description('what became of events; retry, redeliver and cancel')

  withFilters(command.command('list'))
    .description('show deliveries: those under way first, then the latest to end')
    .option('--limit <number>', 'most deliveries to show, 1 to 10000', wholeNumber(1, maxListed), 50)
    .action(async ({ limit, ...options }: FilterOptions & { limit: number }, self: Command) => {
      const { api, out } = await openSession(self)
      const filter = await readFilter(api, options)
      const items = await listAll(
        (page) => api.GET('/deliveries', { params: { query: { ...filter, ...page } } }),
        limit,
      )
      const ids = items.flatMap(({ destinationIds }) => destinationIds)
      const destinations = out.isJson ? [] : await withDeleted(api, ids, await listDestinations(api))
      out.result({ items }, () => deliveryTable(items, destinations))
    })

  withFilters(command.command('count'))
    .description('count the deliveries that match')
    .action(async (options: FilterOptions, self: Command) => {
      const { api, out } = await openSession(self)
      const count = await countDeliveries(api, await readFilter(api, options))
      out.result({ count }, () => String(count))
    })

  command
    .command('show')
    .argument('<id>', 'id of the delivery')
    .description('show a delivery with its attempts and its event')
    .option('--headers', 'show the request and the answer of each attempt, as they were')
    .action(async (id: string, { headers = false }: { headers?: boolean }, self: Command) => {
      const { api, out } = await openSession(self)
      const delivery = await answerOf(api.GET('/deliveries/{id}', { params: { path: { id } } }))
      const attempts = headers ? delivery.timeline.map((attempt) => `\n\n${attemptEvidence(attempt)}`).join('') : ''
      out.result(delivery, () => `${deliveryFacts(delivery)}${attempts}\n\n${printableJson(delivery.message)}`)
    })

  withFilters(command.command('tail'))
    .description('show deliveries as they start and change, until Ctrl-C')
    .action(async (options: FilterOptions, self: Command) => {
      const { api, out } = await openSession(self)
      const { tail } = await import('./deliveries-tail.ts')
      await tail(api, out, await readFilter(api, options))
    })

  command.addCommand(steerCommand('retry', 'make the next attempt of waiting deliveries now'))
  command.addCommand(steerCommand('redeliver', 'send finished deliveries again'))
  command.addCommand(steerCommand('cancel', 'cancel waiting deliveries: no further attempt is made'))
  return command
}
