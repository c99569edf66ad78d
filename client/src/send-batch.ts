/** One request to the server, and what its answer means. */

import type { Batch } from './batch.ts'
import type { Settings } from './options.ts'
import type { Platform } from './platform.ts'

/** A message that the server did not take, by its place in the batch. */
export interface RejectedItem {
  index: number
  code: string | undefined
  message: string | undefined
}

export type Outcome =
  | { kind: 'accepted'; rejected: RejectedItem[] }
  | {
      kind: 'refused' | 'failed'
      message: string
      status?: number
      reason?: string | undefined
      retryAfterMs?: number | undefined
    }

/** Sends a batch once. `refused` is final, `failed` may pass. Never rejects. */
export async function sendBatch(
  batch: Batch,
  { endpoint, requestTimeoutMs }: Settings,
  platform: Platform,
  stop: AbortSignal,
): Promise<Outcome> {
  const request = new AbortController()
  const end = () => request.abort(stop.reason)
  const timer = setTimeout(() => request.abort(new Error(`no answer in ${requestTimeoutMs} ms`)), requestTimeoutMs)
  stop.addEventListener('abort', end)
  try {
    const init = await platform.createRequest(batch)
    // Followed, a redirect would turn the POST into a GET and count as delivered.
    const response = await fetch(`${endpoint}/v1/batch`, { ...init, redirect: 'manual', signal: request.signal })
    return readAnswer(response.status, response.headers, await response.text())
  } catch (error) {
    return { kind: 'failed', message: describe(request.signal.aborted ? request.signal.reason : error) }
  } finally {
    clearTimeout(timer)
    stop.removeEventListener('abort', end)
  }
}

function readAnswer(status: number, headers: Headers, text: string): Outcome {
  const body = parseObject(text)
  if (status >= 200 && status < 300) {
    return { kind: 'accepted', rejected: Array.isArray(body.rejected) ? body.rejected.filter(isRejectedItem) : [] }
  }
  const mayPass = status >= 500 || status === 408 || status === 425 || status === 429
  return {
    kind: mayPass ? 'failed' : 'refused',
    status,
    message: typeof body.message === 'string' ? body.message : `the server answered ${status || 'a redirect'}`,
    reason: typeof body.code === 'string' ? body.code : undefined,
    retryAfterMs: readRetryAfter(headers.get('retry-after')),
  }
}

/** Milliseconds of a Retry-After header, given in seconds or as a date to come (RFC 9110, 10.2.3). */
function readRetryAfter(value: string | null): number | undefined {
  if (value === null) return undefined
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now()
  return ms >= 0 ? ms : undefined
}

function parseObject(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>
  } catch {
    return {}
  }
}

function isRejectedItem(item: unknown): item is RejectedItem {
  return Number.isInteger((item as RejectedItem | null)?.index)
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // fetch hides the socket's error behind "fetch failed".
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}
