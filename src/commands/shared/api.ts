/** The management API as the commands use it. */

import { Readable } from 'node:stream'
import { z } from 'zod'
import { memberOf, speakPlainly } from '../../schemas/plain-words.ts'
import { CommandError, type ExitCode } from './failure.ts'

/** Longest wait for an answer, in milliseconds. */
const answerLimitMs = 60_000

/** Longest wait for the answer to an upload, which the node reads to its end first, in milliseconds. */
const uploadLimitMs = 3_600_000

const RefusalSchema = z.object({ code: z.string(), message: z.string() })

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'

export interface Api {
  /** Without a slash at the end. */
  address: string
  /** Whether calls carry a token. */
  hasToken: boolean
  /** Calls `path` below `/api/v1`.
   *  @throws CommandError by what the node answered, or when it did not */
  call<Answer>(method: Method, path: string, answer: z.ZodType<Answer>, body?: unknown): Promise<Answer>
  /** Sends `body` as it is. */
  upload<Answer>(method: Method, path: string, answer: z.ZodType<Answer>, upload: Upload): Promise<Answer>
  /** Posts a call below `/v1` as the source of `writeKey`. */
  ingest(path: string, writeKey: string, body: unknown): Promise<void>
}

export interface Upload {
  body: Readable
  contentType: string
}

interface Call {
  method: Method
  url: string
  headers: Record<string, string>
  body?: string | Readable
  limitMs: number
  /** Ends the wait for the answer, too. */
  until?: AbortSignal | undefined
}

/** @param until  ends every call and, aborted by a limit, is told as `timeout` */
export function createApi(address: string, token: string | undefined, until?: AbortSignal): Api {
  const authorization = token === undefined ? undefined : { authorization: `Bearer ${token}` }
  const send = async <Answer>(schema: z.ZodType<Answer>, call: Omit<Call, 'url' | 'until'> & { path: string }) => {
    const { path, headers, ...rest } = call
    const url = `${address}/api/v1${path}`
    const answer = await exchange({ ...rest, url, headers: { ...headers, ...authorization }, until })
    speakPlainly()
    const parsed = schema.safeParse(answer)
    if (parsed.success) return parsed.data
    const faults = parsed.error.issues.map((issue) => `${memberOf(issue) || 'the answer'} ${issue.message}`)
    throw new CommandError(
      'failed',
      `${call.method} ${url} answered what this version does not know (${faults.join('; ')}); ` +
        'is the node of the same version?',
    )
  }
  return {
    address,
    hasToken: token !== undefined,
    call: (method, path, schema, body) =>
      send(schema, {
        method,
        path,
        headers: body === undefined ? {} : { 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        limitMs: answerLimitMs,
      }),
    upload: (method, path, schema, { body, contentType }) =>
      send(schema, { method, path, headers: { 'content-type': contentType }, body, limitMs: uploadLimitMs }),
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

/** Of what was asked of a node, that it is so. */
export const DoneSchema = z.object({ success: z.literal(true) })

/** Part of a path that holds any text. */
export const segment = (text: string): string => encodeURIComponent(text)

/** A query string of those members that are set, or nothing. */
export function query(members: Record<string, string | number | undefined>): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(members)) if (value !== undefined) parameters.set(name, String(value))
  return parameters.size === 0 ? '' : `?${parameters.toString()}`
}

async function exchange(call: Call): Promise<unknown> {
  const { url } = call
  const { status, text } = await transmit(call).catch((error: unknown) => {
    throw unreachable(call, error)
  })
  const value = parse(text)
  if (status < 300 && value !== undefined) return value
  const refusal = RefusalSchema.safeParse(value)
  if (!refusal.success)
    throw new CommandError('failed', `${url} answered ${status}, but not as Postrider does: is the address right?`)
  throw new CommandError(exitOf(status), explain(refusal.data), { code: refusal.data.code })
}

async function transmit({
  method,
  url,
  headers,
  body,
  limitMs,
  until,
}: Call): Promise<{ status: number; text: string }> {
  if (body instanceof Readable) {
    // Loaded only here: Node's own has no way to wait longer than five minutes for an answer.
    const { request } = await import('undici')
    const answer = await request(url, { method, headers, body, headersTimeout: limitMs })
    return { status: answer.statusCode, text: await answer.body.text() }
  }
  const end = new AbortController()
  // Not AbortSignal.timeout: while a connection is made anew, only a timer keeps the process from ending as if all were well.
  const timer = setTimeout(() => end.abort(new Error(`no answer within ${limitMs / 1_000} s`)), limitMs)
  try {
    const signal = until === undefined ? end.signal : AbortSignal.any([end.signal, until])
    const answer = await fetch(url, { method, headers, body: body ?? null, redirect: 'manual', signal })
    return { status: answer.status, text: await answer.text() }
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

function explain({ code, message }: z.infer<typeof RefusalSchema>): string {
  if (code !== 'unauthorized') return message
  return `${message} Give the token with --token or POSTRIDER_ADMIN_TOKEN, or save it with: postrider login`
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
