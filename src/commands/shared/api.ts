/** The management API as the commands use it. */

import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { createClient, type PostriderClient } from '@postrider/api'
import { z } from 'zod'
import { CommandError, type ExitCode } from './failure.ts'

/** Longest wait for an answer, in milliseconds. */
const answerLimitMs = 60_000

/** Longest wait for the answer to an upload, which the node reads to its end first, in milliseconds. */
const uploadLimitMs = 3_600_000

const RefusalSchema = z.object({ code: z.string(), message: z.string() })

export interface Api extends PostriderClient {
  /** Without a slash at the end. */
  address: string
  /** Whether calls carry a token. */
  hasToken: boolean
  /** Posts a call below `/v1` as the source of `writeKey`. */
  ingest(path: string, writeKey: string, body: unknown): Promise<void>
}

export interface Upload {
  body: Readable
  contentType: string
}

interface Call {
  method: string
  url: string
  headers: Record<string, string>
  body: string | Readable | null
  limitMs: number
  /** Ends the wait for the answer, too. */
  until?: AbortSignal | undefined
}

/** Its calls throw a CommandError by what the node answered, or when it did not.
 *  @param until  ends every call and, aborted by a limit, is told as `timeout` */
export function createApi(address: string, token: string | undefined, until?: AbortSignal): Api {
  const client = createClient({
    address,
    token,
    fetch: async ({ method, url, headers, body }) => {
      const isUpload = headers.get('content-type') !== 'application/json'
      const answer = await exchange({
        method,
        url,
        headers: Object.fromEntries(headers),
        body: body === null ? null : isUpload ? Readable.fromWeb(body) : await text(body),
        limitMs: body !== null && isUpload ? uploadLimitMs : answerLimitMs,
        until,
      })
      return Response.json(answer)
    },
  })
  return {
    ...client,
    address,
    hasToken: token !== undefined,
    async ingest(path, writeKey, body) {
      await exchange({
        method: 'POST',
        url: `${address}/v1${path}`,
        headers: {
          'content-type': 'application/json',
          authorization: `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`,
        },
        body: JSON.stringify(body),
        limitMs: answerLimitMs,
        until,
      })
    },
  }
}

/** How a stream is the body of a call. */
export const uploading = ({ body, contentType }: Upload) => ({
  body: '',
  bodySerializer: () => Readable.toWeb(body),
  duplex: 'half' as const,
  headers: { 'content-type': contentType },
})

async function exchange(call: Call): Promise<unknown> {
  const { url } = call
  const { status, content } = await transmit(call).catch((error: unknown) => {
    throw unreachable(call, error)
  })
  const value = parse(content)
  if (status < 300 && value !== undefined) return value
  const refusal = RefusalSchema.safeParse(value)
  if (!refusal.success)
    throw new CommandError('failed', `${url} answered ${status}, but not as Postrider does: is the address right?`)
  const hasToken = call.headers['authorization'] !== undefined
  throw new CommandError(exitOf(status), explain(refusal.data, hasToken), { code: refusal.data.code })
}

async function transmit({
  method,
  url,
  headers,
  body,
  limitMs,
  until,
}: Call): Promise<{ status: number; content: string }> {
  if (body instanceof Readable) {
    // Loaded only here: Node's own has no way to wait longer than five minutes for an answer.
    const { request } = await import('undici')
    const answer = await request(url, { method, headers, body, headersTimeout: limitMs })
    return { status: answer.statusCode, content: await answer.body.text() }
  }
  const end = new AbortController()
  // Not AbortSignal.timeout: while a connection is made anew, only a timer keeps the process from ending as if all were well.
  const timer = setTimeout(() => end.abort(new Error(`no answer within ${limitMs / 1_000} s`)), limitMs)
  try {
    const signal = until === undefined ? end.signal : AbortSignal.any([end.signal, until])
    const answer = await fetch(url, { method, headers, body, redirect: 'manual', signal })
    return { status: answer.status, content: await answer.text() }
  } finally {
    clearTimeout(timer)
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Exit codes of statuses; other refusals are failures. */
const exits: Record<number, ExitCode> = {
  401: 'unauthorized',
  403: 'unauthorized',
  404: 'notFound',
  503: 'unreachable',
}

const exitOf = (status: number): ExitCode => exits[status] ?? 'failed'

function explain({ code, message }: z.infer<typeof RefusalSchema>, hasToken: boolean): string {
  if (code !== 'unauthorized') return message
  const fault = hasToken ? message : 'The node asks for a token.'
  return `${fault} Give it with --token or POSTRIDER_ADMIN_TOKEN, or save it with: postrider login`
}

/** Codes of errors before a request is sent. */
const unsent = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'])

function unreachable({ method, url, until }: Call, error: unknown): CommandError {
  const { origin } = new URL(url)
  const root = rootOf(error)
  const isUnsent = root instanceof Error && 'code' in root && unsent.has(String(root.code))
  const doubt = method === 'GET' || isUnsent ? '' : ' It may be done all the same: look before you try again.'
  if (until?.aborted)
    return new CommandError('timeout', `${origin} did not answer within --timeout.${doubt}`, { cause: error })
  return new CommandError(
    'unreachable',
    `${origin} does not answer (${textOf(root)}).${doubt} Is the node running there? Start one with: postrider start; or give ` +
      '--address',
    { cause: error },
  )
}

/** What an error is about in the end. */
export const reasonOf = (error: unknown): string => textOf(rootOf(error))

/** The error that others tell of; a name with several addresses fails with one error for each. */
function rootOf(error: unknown): unknown {
  if (error instanceof AggregateError && error.errors.length > 0) return rootOf(error.errors[0])
  return error instanceof Error && error.cause !== undefined ? rootOf(error.cause) : error
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
