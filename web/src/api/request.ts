/** One call to the management API, with the session's cookie. */

export interface Page<Item> {
  items: Item[]
  nextCursor: string | null
}

/** An answer that is not a success; `message` is a sentence of the server, `path` the member at fault. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly status: number
  readonly code: string
  readonly path: string | undefined

  constructor(status: number, code: string, message: string, path?: string) {
    super(message)
    this.status = status
    this.code = code
    this.path = path
  }
}

/** Whether asking again later may help. */
export const isTemporary = (error: Error | null): boolean =>
  error instanceof ApiError && (error.status >= 500 || error.status === 0)

/** Nothing that belongs to Postrider answered: no server, or only a proxy before it. */
export const isUnreachable = (error: Error | null): boolean =>
  error instanceof ApiError && (error.status === 0 || (isTemporary(error) && error.code === 'no_answer'))

type Query = Record<string, string | number | undefined>

export interface Call {
  query?: Query
  /** Sent as JSON, unless it is a file. */
  body?: unknown
  contentType?: string
  signal?: AbortSignal
  /** The tag of what is changed: refused with 409 when somebody changed it since. */
  ifMatch?: string | null
  /** Most milliseconds for the answer; the usual ones of the method unless given, and none for a file. */
  limitMs?: number
  /** Whether it goes before other reads: a browser has few connections to one server, and those of all tabs may be taken. */
  isUrgent?: boolean
}

/** Refuses a name that another one has. */
export const uniqueName: Query = { uniqueName: 'true' }

/** How long an answer may take, in milliseconds. What is changed may wait for an endpoint. */
const readLimitMs = 30_000
const changeLimitMs = 90_000

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The address of a call below `/api/v1`; empty members of the query are left out. */
export function apiUrl(path: string, query: Query = {}): string {
  const entries = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  )
  return `/api/v1${path}${entries.length === 0 ? '' : `?${new URLSearchParams(entries)}`}`
}

/** @throws ApiError, also when no answer comes (`code` is `unreachable`) */
export const request = async <Answer>(method: Method, path: string, call: Call = {}): Promise<Answer> =>
  (await requestTagged<Answer>(method, path, call)).answer

/** An answer with the tag of what it shows, to be sent with a change of it. */
export interface Tagged<Answer> {
  answer: Answer
  /** Null for who may not change it. */
  etag: string | null
}

/** @throws ApiError, as `request` does */
export async function requestTagged<Answer>(method: Method, path: string, call: Call = {}): Promise<Tagged<Answer>> {
  const { query, body, contentType = 'application/json', signal, ifMatch, isUrgent = method !== 'GET' } = call
  const { limitMs = method === 'GET' ? readLimitMs : changeLimitMs } = call
  const limit = body instanceof Blob ? [] : [AbortSignal.timeout(limitMs)]
  const signals = [...limit, ...(signal ? [signal] : [])]
  const response = await send(apiUrl(path, query), signal, {
    method,
    headers: {
      accept: 'application/json',
      ...(method !== 'GET' && { 'x-postrider-csrf': '1' }),
      ...(body !== undefined && { 'content-type': contentType }),
      ...(typeof ifMatch === 'string' && { 'if-match': ifMatch }),
    },
    ...(body !== undefined && { body: body instanceof Blob ? body : JSON.stringify(body) }),
    signal: AbortSignal.any(signals),
    priority: isUrgent ? 'high' : 'low',
  })
  if (!response.ok) throw await readError(response)
  return { answer: (await readAnswer(response)) as Answer, etag: response.headers.get('etag') }
}

/** @param given  the signal of the caller, whose reason is what it gets */
async function send(url: string, given: AbortSignal | undefined, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init)
  } catch (error) {
    if (given?.aborted === true) throw error
    throw new ApiError(0, 'unreachable', 'The server does not answer.')
  }
}

/** Why a stream of events is refused, which the browser does not tell who opens one; undefined when it is not. */
export async function readRefusal(path: string): Promise<Error | undefined> {
  const end = new AbortController()
  try {
    const response = await send(apiUrl(path), undefined, {
      headers: { accept: 'application/json' },
      signal: AbortSignal.any([end.signal, AbortSignal.timeout(readLimitMs)]),
    })
    return response.ok ? undefined : await readError(response)
  } catch (error) {
    return error as Error
  } finally {
    end.abort()
  }
}

async function readAnswer(response: Response): Promise<unknown> {
  try {
    return response.status === 204 ? undefined : await response.json()
  } catch {
    throw new ApiError(0, 'unreachable', 'The answer broke off.')
  }
}

async function readError(response: Response): Promise<ApiError> {
  const body: unknown = await response.json().catch(() => undefined)
  const { code, message, path } = (body ?? {}) as { code?: string; message?: string; path?: string }
  return new ApiError(response.status, code ?? 'no_answer', message ?? `The answer was HTTP ${response.status}.`, path)
}

/** An id as a path segment: delivery ids hold slashes. */
export const segment = (id: string): string => encodeURIComponent(id)
