/** Deliveries as people read them. */

import { answerOf } from '@postrider/api'
import type { Delivery, DeliveryAttempt, DeliveryDetail } from '../../schemas/delivery.ts'
import type { Api } from './api.ts'
import { CommandError } from './failure.ts'
import { namesOf } from './lookup.ts'
import { colored, facts, printable, table } from './output.ts'

/** A delivery with its attempts; undefined when nothing has the id. */
export async function readDelivery(api: Api, id: string): Promise<DeliveryDetail | undefined> {
  try {
    return await answerOf(api.GET('/deliveries/{id}', { params: { path: { id } } }))
  } catch (error) {
    if (error instanceof CommandError && error.exit === 'notFound') return undefined
    throw error
  }
}

export const attemptLine = ({ at, endpointId, status, error, durationMs }: DeliveryAttempt): string =>
  printable(`  ${at}  ${endpointId}  ${status ?? error ?? 'no answer'}  ${Math.round(durationMs)} ms`)

/** What an attempt sent and got, as it was then. */
export function attemptEvidence({
  at,
  url,
  status,
  request,
  response,
  isCut,
  error,
  excerpt,
}: DeliveryAttempt): string {
  if (request === null) return printable(`attempt ${at}: its request is not kept`)
  const sent = Object.entries(request.headers).map(([name, value]) => `> ${name}: ${value}`)
  const got = response?.headers.map(({ name, value }) => `< ${name}: ${value}`) ?? []
  return [
    `attempt ${at}`,
    `> ${request.method} ${url ?? ''}`,
    ...sent,
    `< ${status ?? error ?? 'no answer'}`,
    ...got,
    ...(isCut ? ['  (headers that were too many or too long are left out)'] : []),
    ...(excerpt === null ? [] : [`  ${excerpt}`]),
  ]
    .map(printable)
    .join('\n')
}

export const deliveryLine = ({ startedAt, status, type, event, userId, attempts, reason, id }: Delivery): string =>
  [
    startedAt,
    colored(status),
    printable([type, event].filter(Boolean).join(' ')),
    ...(userId === null ? [] : [`by ${printable(userId)}`]),
    ...(attempts === null ? [] : [`${attempts} attempt${attempts === 1 ? '' : 's'}`]),
    ...(reason === null ? [] : [`(${printable(reason)})`]),
    printable(id),
  ].join('  ')

/** @param destinations  whose names are shown; of those that are gone, the ids */
export const deliveryTable = (deliveries: Delivery[], destinations: { id: string; name: string }[]): string =>
  table(
    ['started', 'status', 'type', 'event', 'user', 'destinations', 'attempts', 'reason', 'id'],
    deliveries.map((one) => [
      one.startedAt,
      one.status,
      one.type,
      one.event,
      one.erased ? 'erased' : one.userId,
      namesOf(one.destinationIds, destinations),
      one.attempts,
      one.reason,
      one.id,
    ]),
    'No deliveries match.',
  )

/** All about one delivery. */
export const deliveryFacts = (delivery: DeliveryDetail): string =>
  [
    facts({
      id: delivery.id,
      status: delivery.status,
      event: [delivery.type, delivery.event].filter(Boolean).join(' '),
      user: delivery.erased ? 'erased' : delivery.userId,
      started: delivery.startedAt,
      ended: delivery.endedAt,
      'next attempt': delivery.nextAttemptAt,
      reason: delivery.reason,
      ...(delivery.outOfOrder && { order: 'before its turn: it had waited for those before it as long as it may' }),
      'Temporal UI': delivery.temporalUiUrl,
    }),
    '',
    table(
      ['at', 'endpoint', 'status', 'ms', 'error', 'response'],
      delivery.timeline.map((one) => [
        one.at,
        one.endpointId,
        one.status,
        Math.round(one.durationMs),
        one.error,
        one.excerpt,
      ]),
      'No attempts yet.',
    ),
    ...delivery.steering.map(({ at, action, by, why }) =>
      printable(`${at}  ${action} by ${by ?? 'unknown'}${why === null ? '' : `: ${why}`}`),
    ),
  ].join('\n')
