/** The management API as the web app calls it, with the session's cookie. */

import { answerOf as unlessRefused, ApiError, createClient, type Called } from '@postrider/api'

export { ApiError }

export interface Page<Item> {
  items: Item[]
  nextCursor: string | null
}

/** Whether asking again later may help. */
export const isTemporary = (error: Error | null): boolean =>
  error instanceof ApiError && (error.status >= 500 || error.status === 0)

/** Nothing that belongs to Postrider answered: no server, or only a proxy before it. */
export const isUnreachable = (error: Error | null): boolean =>
  error instanceof ApiError && (error.status === 0 || (isTemporary(error) && error.code === 'no_answer'))

/** What was asked for is not, or no longer, there. */
export const isMissing = (error: Error | null): boolean => error instanceof ApiError && error.status === 404

/** How long an answer may take, in milliseconds. What is changed may wait for an endpoint. */
const readLimitMs = 30_000
const changeLimitMs = 90_000

interface Sending {
  /** Most milliseconds for the answer; the usual ones of the method unless given, and none for a file. */
  limitMs?: number
  /** Whether it goes before other reads: a browser has few connections to one server, and those of all tabs may be taken. */
  isUrgent?: boolean
}

/** Sends a request. It throws an ApiError (`unreachable`) when no answer comes. */
export const sending =
  ({ limitMs, isUrgent }: Sending) =>
  async (request: Request): Promise<Response> => {
    const { method, headers, signal } = request
    const isRead = method === 'GET'
    if (!isRead) headers.set('x-postrider-csrf', '1')
    const isFile = headers.has('content-type') && headers.get('content-type') !== 'application/json'
    const limit = isFile ? [] : [AbortSignal.timeout(limitMs ?? (isRead ? readLimitMs : changeLimitMs))]
    try {
      return await fetch(request, {
        signal: AbortSignal.any([signal, ...limit]),
        priority: (isUrgent ?? !isRead) ? 'high' : 'low',
      })
    } catch (error) {
      if (signal.aborted) throw error
      throw new ApiError(0, 'unreachable', 'The server does not answer.')
    }
  }

/** Empty members of a query are left out. */
export const api = createClient({
  address: '',
  fetch: sending({}),
  querySerializer: (query) =>
    new URLSearchParams(
      Object.entries(query).flatMap(([name, value]) =>
        value === undefined || value === '' ? [] : [[name, String(value as string | number)]],
      ),
    ).toString(),
})

/** @throws ApiError, also when no answer comes (`code` is `unreachable`) */
export const answerOf = async <Answer>(call: Promise<Called<Answer>>): Promise<Answer> => (await taggedOf(call)).answer

/** An answer with the tag of what it shows, to be sent with a change of it. */
export interface Tagged<Answer> {
  answer: Answer
  /** Null for who may not change it. */
  etag: string | null
}

/** @throws ApiError, as `answerOf` does */
export async function taggedOf<Answer>(call: Promise<Called<Answer>>): Promise<Tagged<Answer>> {
  const called = await call.catch((error: Error) => {
    throw error instanceof ApiError || error.name === 'AbortError'
      ? error
      : new ApiError(0, 'unreachable', 'The answer broke off.')
  })
  return { answer: await unlessRefused(Promise.resolve(called)), etag: called.response.headers.get('etag') }
}

/** Refuses a name that another one has. */
export const uniqueName = { uniqueName: 'true' } as const
