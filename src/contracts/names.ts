/** Names that cross a process boundary: task queue, workflow ids, search attributes. */

import type { ResultAttribute } from './delivery.ts'

/** The task queue of every Postrider worker. */
export const taskQueue = 'postrider'

/** Beginning of the ids of audiences: in a delivery one stands in the place of the source. */
export const audienceIdPrefix = 'aud_'

/** How the id of a redelivery ends, and what `eventWorkflowId` makes of a message id that ends so. */
const redeliveryEnding = /(^|\/)redelivery(\/|%(?:25)*2F)(\d+)$/

/** What a keyed hash looks like that stands in Temporal for a name which a caller gave. */
export const hashedName = /^~[\w-]{24}$/

/** A message id of that form, and what `eventWorkflowId` makes of one. */
const likeHashedName = /^(~|%(?:25)*7E)([\w-]{24})$/

/** Id of an event's delivery; the same `messageId` from the same source is the same delivery. Temporal has a hash in place of the
 *  message id: see `src/temporal/names-in-temporal.ts`. Where a message id ends as a redelivery does, the last slash is
 *  percent-encoded, and the tilde of one that looks like such a hash; what is encoded already is once more: no two deliveries share
 *  an id. */
export const eventWorkflowId = (sourceId: string, messageId: string): string =>
  `event/${sourceId}/${messageId
    .replace(
      redeliveryEnding,
      (_, before: string, slash: string, n: string) => `${before}redelivery${encodeURIComponent(slash)}${n}`,
    )
    .replace(
      likeHashedName,
      (_, tilde: string, rest: string) => `${tilde === '~' ? '%7E' : encodeURIComponent(tilde)}${rest}`,
    )}`

/** Id of the `n`-th repeated delivery of an event (1, 2, …). */
export const redeliveryWorkflowId = (eventId: string, n: number): string => `${eventId}/redelivery/${n}`

/** Which repeated delivery of its event this one is: 0 for the event's own. */
export const redeliveryNumberOf = (deliveryId: string): number =>
  Number(/\/redelivery\/(\d+)$/.exec(deliveryId)?.[1] ?? 0)

/** Id of the event that a delivery is of: its own, or what it repeats. */
export const eventIdOf = (deliveryId: string): string => deliveryId.replace(/\/redelivery\/\d+$/, '')

/** Custom search attributes of a delivery and their Temporal types. Values are at most 255 characters long. A Temporal
 *  with an SQL database has room for ten keywords in a namespace. */
export const searchAttributes = {
  PostriderSource: 'KEYWORD',
  // The list alone would say it all, but SQLite reads every match of a list before the newest: 100 ms among 100,000.
  PostriderDestination1: 'KEYWORD',
  /** `moreDestinations` when there are more than two; the list then has all but the first. */
  PostriderDestination2: 'KEYWORD',
  PostriderDestinations: 'KEYWORD_LIST',
  PostriderType: 'KEYWORD',
  PostriderEvent: 'KEYWORD',
  PostriderMessageId: 'KEYWORD',
  PostriderUserId: 'KEYWORD',
  PostriderOutcome: 'KEYWORD',
  /** Values of `resultAt`, one for each destination, only where they differ. */
  PostriderResults: 'KEYWORD_LIST',
  /** When its event was accepted, only of one that left its parcel: its workflow started later. */
  PostriderAcceptedAt: 'DATETIME',
} as const

/** Where a delivery stands at one of its destinations, as a value of `PostriderResults`. */
export const resultAt = (destinationId: string, result: ResultAttribute): string => `${destinationId}:${result}`

/** In place of a second destination: there are several more. */
export const moreDestinations = 'more'

/** One of `searchAttributes`. */
export type SearchAttributeName = keyof typeof searchAttributes
