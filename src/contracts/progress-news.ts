/** What is known of an event of a parcel, put together from accounts that come side by side. Pure. */

import { distinctAttempts, withAllUrls, withinEvidenceBound, withoutSameUrls } from './attempts.ts'
import type { Attempt } from './delivery.ts'
import { destinationOf } from './parcel-progress.ts'
import type { EndpointProgress, EventProgress } from './parcels.ts'

/** Most attempts of an event at an endpoint that are known, the newest ones: as many as of an event with a workflow of its own. Each
 *  takes about 140 bytes and its evidence 400; the default pauses make about 28 of them in the retry window of 4 hours. */
const maxKnown = 100

/** The event as it is known after one more account of it. The destinations of a parcel are pursued side by side, and an account has
 *  the others as they were when its round began: of each endpoint the account counts that is further.
 *  @param destinationId  the destination whose round the account tells of; absent: of none, or of all */
export function withNews(known: EventProgress, news: EventProgress, destinationId?: string): EventProgress {
  const end = known.end ?? news.end
  const destinations = known.destinations.map((destination) => {
    const told = destinationOf(news, destination.destinationId)?.endpoints ?? []
    const isOwn = destination.destinationId === destinationId
    const endpoints = destination.endpoints.map((endpoint) => {
      const found = told.find(({ endpointId }) => endpointId === endpoint.endpointId)
      return found === undefined ? endpoint : endpointWithNews(endpoint, found, isOwn)
    })
    return { ...destination, endpoints }
  })
  return { ...known, destinations, ...(end !== undefined && { end }) }
}

function endpointWithNews(known: EndpointProgress, news: EndpointProgress, isOwn: boolean): EndpointProgress {
  const made = allMade(known.made, news.made)
  const attempts = Math.max(known.attempts, news.attempts, made.length)
  return { ...(isFurther(known, news, isOwn) ? known : news), attempts, made }
}

const allMade = (known: readonly Attempt[], news: readonly Attempt[]): Attempt[] =>
  withoutSameUrls(withinEvidenceBound(distinctAttempts([...withAllUrls(known), ...withAllUrls(news)]).slice(-maxKnown)))

/** Whether an endpoint is further than the news of it say: an end is for good. What was found later counts, for a round that Temporal gave
 *  up may write after the one that came next. Where that is not known, more attempts count; then a round of its own destination, and of
 *  two others that one that lets it wait longer. */
function isFurther(known: EndpointProgress, news: EndpointProgress, isOwn: boolean): boolean {
  if (known.end !== undefined || news.end !== undefined) return known.end !== undefined
  const isLonger = waitsUntil(known) > waitsUntil(news)
  if (known.foundAt !== undefined && news.foundAt !== undefined)
    return known.foundAt > news.foundAt || (known.foundAt === news.foundAt && isLonger)
  if (known.attempts !== news.attempts) return known.attempts > news.attempts
  return !isOwn && isLonger
}

const waitsUntil = ({ waits, dueAt = 0 }: EndpointProgress): number => (waits === 'hold' ? Infinity : dueAt)
