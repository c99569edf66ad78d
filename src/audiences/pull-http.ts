/** A membership fetched over HTTP: pages of rows, linked by `Link: <…>; rel="next"`. */

import { pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import LinkHeader from 'http-link-header'
import { Agent, request, type buildConnector, type Dispatcher } from 'undici'
import type { AudienceKind, MemberFormat } from '../schemas/audience.ts'
import type { Reading } from './member-row.ts'
import { MembershipError } from './membership-error.ts'
import { formatOf, readMembers } from './read-members.ts'

/** Most pages of one membership. */
export const maxPages = 100_000
/** Longest silence of the other side, in milliseconds. */
const maxSilenceMs = 60_000

/** Which addresses a pull may reach, and how it connects: the rules of deliveries. */
export interface PullGuard {
  /** What is wrong with a URL or address; undefined when it may be reached. */
  refuseUrl(url: string): { reason: string } | undefined
  refuseAddress(address: string): { reason: string } | undefined
  /** Connects to addresses that are not refused only. */
  connect: buildConnector.connector
}

export interface HttpPull {
  url: string
  headers: Readonly<Record<string, string>>
  format: MemberFormat | undefined
  kind: AudienceKind
  /** The ETag of the last answer that was taken over. */
  etag: string | undefined
}

export type HttpMembership =
  | { kind: 'unchanged' }
  /** `etag` is that of a membership of one page, known once all was read. */
  | { kind: 'rows'; readings: AsyncIterable<Reading[]>; etag: () => string | undefined }

type Answer = Dispatcher.ResponseData

/** Asks for the membership; rows are read as they are iterated.
 *  @throws MembershipError for an answer that another try would not change
 *  @throws Error for one that may pass: 5xx, 408, 425, 429, a broken connection */
export async function pullOverHttp(pull: HttpPull, guard: PullGuard, signal: AbortSignal): Promise<HttpMembership> {
  const agent = new Agent({ connect: guard.connect, headersTimeout: maxSilenceMs, bodyTimeout: maxSilenceMs })
  try {
    const first = await get(pull, pull.url, pull.etag, { agent, guard, signal })
    if (first.statusCode === 304) {
      await agent.destroy()
      return { kind: 'unchanged' }
    }
    let etag: string | undefined
    const readings = (async function* () {
      try {
        let answer = first
        let url = pull.url
        for (let pages = 1; ; pages++) {
          yield* readPage(pull, answer)
          const next = nextPage(answer, url)
          if (next === undefined) {
            if (pages === 1) etag = header(answer, 'etag')
            return
          }
          if (pages === maxPages) throw new MembershipError(`it has more than ${maxPages} pages`)
          url = next
          answer = await get(pull, url, undefined, { agent, guard, signal })
        }
      } finally {
        await agent.destroy()
      }
    })()
    return { kind: 'rows', readings, etag: () => etag }
  } catch (error) {
    await agent.destroy()
    throw error
  }
}

async function get(
  pull: HttpPull,
  url: string,
  etag: string | undefined,
  { agent, guard, signal }: { agent: Agent; guard: PullGuard; signal: AbortSignal },
): Promise<Answer> {
  const refusal = guard.refuseUrl(url)
  if (refusal !== undefined) throw new MembershipError(`its URL is refused: ${refusal.reason}`)
  // Headers carry credentials: a next page elsewhere does not get them.
  const own = new URL(url).origin === new URL(pull.url).origin ? pull.headers : {}
  const answer = await request(url, {
    dispatcher: agent,
    signal,
    headers: {
      accept: 'application/x-ndjson, text/csv, application/json',
      'accept-encoding': 'gzip',
      'user-agent': 'Postrider/1.0',
      ...own,
      ...(etag !== undefined && { 'if-none-match': etag }),
    },
  })
  const { statusCode } = answer
  if (statusCode === 200 || (statusCode === 304 && etag !== undefined)) return answer
  await answer.body.dump()
  const sentence = `its URL answered ${statusCode}`
  if (statusCode >= 500 || [408, 425, 429].includes(statusCode)) throw new Error(sentence)
  throw new MembershipError(sentence)
}

function readPage({ format, kind }: HttpPull, answer: Answer): AsyncIterable<Reading[]> {
  const found = format ?? formatOf(header(answer, 'content-type'))
  if (found === undefined)
    throw new MembershipError(
      'its Content-Type is neither NDJSON nor CSV nor JSON: choose its format (membership.format in the API)',
    )
  return readMembers(plain(answer), found, kind)
}

function plain(answer: Answer): Readable {
  if (header(answer, 'content-encoding')?.toLowerCase() !== 'gzip') return answer.body
  return pipeline(answer.body, createGunzip(), () => {})
}

function nextPage(answer: Answer, base: string): string | undefined {
  const link = header(answer, 'link')
  if (link === undefined) return undefined
  const uri = LinkHeader.parse(link).rel('next')[0]?.uri
  return uri === undefined ? undefined : new URL(uri, base).href
}

function header({ headers }: Answer, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}
