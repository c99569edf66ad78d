/** Which deliveries a command is about. */

import { answerOf } from '@postrider/api'
import { Option, type Command } from 'commander'
import { deliveryStatuses, type DeliveryFilter } from '../../schemas/delivery.ts'
import { messageTypes } from '../../schemas/message.ts'
import type { Api } from './api.ts'
import { findDestination, findSource } from './lookup.ts'
import { moment } from './options.ts'

/** Options that say which deliveries. */
export interface FilterOptions {
  status?: DeliveryFilter['status']
  source?: string
  destination?: string
  type?: DeliveryFilter['type']
  event?: string
  userId?: string
  messageId?: string
  since?: string
  until?: string
}

export const withFilters = (command: Command): Command =>
  command
    .addOption(new Option('--status <status>', 'status of the deliveries').choices(deliveryStatuses))
    .option('--source <source>', 'id or name of the source')
    .option('--destination <destination>', 'id or name of a destination')
    .addOption(new Option('--type <type>', 'type of the call').choices(messageTypes))
    .option('--event <name>', 'name of the event')
    .option('--user-id <id>', 'id of the user')
    .option('--message-id <id>', 'id of the message')
    .option('--since <time>', 'started at this time or later: ISO 8601, or 2h for two hours ago', moment)
    .option('--until <time>', 'started before this time, in the same forms', moment)

/** The filter as the API takes it. */
export async function readFilter(api: Api, options: FilterOptions): Promise<DeliveryFilter> {
  const { status, type, event, userId, messageId, since, until } = options
  const sourceId = options.source === undefined ? undefined : (await findSource(api, options.source)).id
  const destinationId =
    options.destination === undefined ? undefined : (await findDestination(api, options.destination)).id
  const members = { status, sourceId, destinationId, type, event, userId, messageId, since, until }
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}

export const countDeliveries = async (api: Api, filter: DeliveryFilter): Promise<number> =>
  (await answerOf(api.GET('/deliveries/count', { params: { query: filter } }))).count
