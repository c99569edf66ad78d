/** `postrider listen` beside a node that does not reach this machine: the command fetches what there is for it. */

import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { answerOf } from '@postrider/api'
import { describe, isReceiver, type ReceivedEvent } from '../receiver/receiver.ts'
import { understand } from '../receiver/read-delivery.ts'
import type { Destination, DestinationView } from '../schemas/destination.ts'
import { fetchingUrl, isFetching, type FetchedRequest } from '../schemas/listen-request.ts'
import type { Source } from '../schemas/source.ts'
import type { Api } from './shared/api.ts'
import { CommandError } from './shared/failure.ts'
import { askForRequests, fetchRequests } from './shared/fetch-requests.ts'
import { forward } from './shared/forward.ts'
import { listDestinations } from './shared/lookup.ts'

/** How long an endpoint that fetches has for its answer, in seconds: what `forward` waits, and the ways there and back. */
const timeoutSeconds = 10

export interface ListeningByFetching {
  api: Api
  /** The same node, where the signal ends every call. */
  openUntil: (over: AbortSignal) => Promise<Api>
  source: Source
  name: string
  forwardTo: string | undefined
  header: Record<string, string> | undefined
  onReady: (destination: Destination) => void
  onEvent: (event: ReceivedEvent) => void
  /** Pauses the destination, or removes it. */
  leave: (destination: Destination, url: string) => Promise<void>
  note: (line: string) => void
  end: AbortSignal
}

/** Listens until the signal aborts.
 *  @throws CommandError with the code `conflict` when another listen has the destination by now */
export async function listenByFetching(listening: ListeningByFetching): Promise<void> {
  const { api, openUntil, forwardTo, header, onReady, onEvent, note, end } = listening
  const listener = randomUUID()
  const url = fetchingUrl(hostname())
  const { destination, requests } = await claim(listening, listener, url)
  onReady(destination)
  const answer = async (request: FetchedRequest): Promise<number> => {
    const at = new Date().toISOString()
    const bytes = Buffer.from(request.body)
    const answered =
      forwardTo === undefined ? { status: 200, forwarded: null } : await forward(forwardTo, request, bytes, header)
    // The node itself handed it out: no signature has to tell so.
    onEvent({ at, ...describe({ bytes, isGenuine: true, ...understand(bytes) }), ...answered })
    return answered.status
  }
  const leave = (): Promise<void> => listening.leave(destination, url)
  await fetchRequests({ api, openUntil, destinationId: destination.id, listener, answer, leave, note }, requests, end)
}

interface Claimed {
  destination: Destination
  /** What waited there. */
  requests: FetchedRequest[]
}

/** Becomes the listener of the destination of an earlier listen, or of a new one: no other listen that runs now has it. */
async function claim({ api, source, name }: ListeningByFetching, listener: string, url: string): Promise<Claimed> {
  const destinations = await listDestinations(api)
  for (let number = 1; ; number++) {
    const freeName = number === 1 ? name : `${name} (${number})`
    const named = destinations.filter((one) => one.name === freeName)
    const existing = named.find(({ sourceIds }) => sourceIds.length === 1 && sourceIds[0] === source.id)
    if (existing === undefined ? named.length > 0 : await hasReceiver(existing)) continue
    const destination = existing ?? (await create(api, source, freeName, url))
    const requests = await unlessTaken(askForRequests(api, destination.id, listener, 0))
    if (requests === undefined) continue
    return { destination: existing === undefined ? destination : await lead(api, existing, url), requests }
  }
}

/** Whether a listen that the node reaches has the destination. */
async function hasReceiver({ paused, settings }: DestinationView): Promise<boolean> {
  const [webhook] = settings.webhooks
  if (paused || webhook === undefined || isFetching(new URL(webhook.url).hostname)) return false
  return isReceiver(webhook.url)
}

const create = (api: Api, source: Source, name: string, url: string): Promise<Destination> =>
  answerOf(
    api.POST('/destinations', {
      body: {
        name,
        type: 'webhooks',
        sourceIds: [source.id],
        settings: { webhooks: [{ url, timeoutSeconds }] },
      },
    }),
  )

const lead = (api: Api, { id, settings }: Destination, url: string): Promise<Destination> =>
  answerOf(
    api.PATCH('/destinations/{id}', {
      params: { path: { id } },
      body: {
        enabled: true,
        paused: false,
        settings: { webhooks: [{ id: settings.webhooks[0]?.id, url, timeoutSeconds }] },
      },
    }),
  )

async function unlessTaken(asked: Promise<FetchedRequest[]>): Promise<FetchedRequest[] | undefined> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof CommandError && error.code === 'conflict') return undefined
    throw error
  }
}
