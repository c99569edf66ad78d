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

type Query = Record<string, string | number | undefined>

export interface Call {
  query?: Query
  /** Sent as JSON, unless it is a file. */
  body?: unknown
  contentType?: string
  signal?: AbortSignal
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The address of a call below `/api/v1`; empty members of the query are left out. */
export function apiUrl(path: string, query: Query = {}): string {
  const entries = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  )
  return `/api/v1${path}${entries.length === 0 ? '' : `?${new URLSearchParams(entries)}`}`
}

/** @throws ApiError, also when no answer comes (`code` is `unreachable`) */
export async function request<Answer>(method: Method, path: string, call: Call = {}): Promise<Answer> {
  const { query, body, contentType = 'application/json', signal } = call
  const response = await send(apiUrl(path, query), {
    method,
    headers: {
      accept: 'application/json',
      ...(method !== 'GET' && { 'x-postrider-csrf': '1' }),
      ...(body !== undefined && { 'content-type': contentType }),
    },
    ...(body !== undefined && { body: body instanceof Blob ? body : JSON.stringify(body) }),
    ...(signal && { signal }),
  })
  if (response.ok) return (response.status === 204 ? undefined : await response.json()) as Answer
  throw await readError(response)
}

async function send(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init)
  } catch (error) {
    if (init.signal?.aborted === true) throw error
    throw new ApiError(0, 'unreachable', 'The server does not answer.')
  }
}

async function readError(response: Response): Promise<ApiError> {
  const body: unknown = await response.json().catch(() => undefined)
  const { code, message, path } = (body ?? {}) as { code?: string; message?: string; path?: string }
  return new ApiError(response.status, code ?? 'internal_error', message ?? `HTTP ${response.status}`, path)
}

/** An id as a path segment: delivery ids hold slashes. */
export const segment = (id: string): string => encodeURIComponent(id)
