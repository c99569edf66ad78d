/** One request to the server, and what its answer means. */

import type { Batch } from './batch.ts'
import type { Settings } from './options.ts'
import type { Outcome, RejectedItem } from './outcome.ts'
import type { Answer, Platform } from './platform.ts'
import { callAfter } from './retry.ts'

/** Sends a batch once. Never rejects. */
export async function sendBatch(
  batch: Batch,
  { requestTimeoutMs }: Settings,
  platform: Platform,
  stop: AbortSignal,
): Promise<Outcome> {
  const request = new AbortController()
  const cancelTimeout = callAfter(requestTimeoutMs, stop, () =>
    request.abort(stop.reason ?? new Error(`no answer in ${requestTimeoutMs} ms`)),
  )
  try {
    return readAnswer(await platform.post(batch, request.signal))
  } catch (error) {
    return {
      kind: 'failed',
      message: (request.signal.aborted ? (request.signal.reason as Error) : (error as Error)).message,
    }
  } finally {
    cancelTimeout()
  }
}

function readAnswer({ status, retryAfter, text }: Answer): Outcome {
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
    retryAfterMs: readRetryAfter(retryAfter),
  }
}

/** Milliseconds of a Retry-After header, given in seconds or as a date to come (RFC 9110, 10.2.3). */
function readRetryAfter(value: Answer['retryAfter']): number | undefined {
  if (!value) return undefined
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
