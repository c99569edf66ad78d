/** A typed client of Postrider's management API. */

import openClient, { mergeHeaders, type Client, type ClientOptions as FetchOptions } from 'openapi-fetch'
import type { paths } from './description.ts'

export type * from './description.ts'

/** A method for each of HTTP's; their paths, parameters, bodies and answers are those of the node's own description. */
export type PostriderClient = Client<paths>

export interface ClientOptions extends Omit<FetchOptions, 'baseUrl'> {
  /** Of the node, such as `https://postrider.example.com`; empty in pages that a node serves. */
  address: string
  /** The admin token or an API token; pages have their session instead. */
  token?: string | undefined
}

export const createClient = ({ address, token, headers, ...options }: ClientOptions): PostriderClient =>
  openClient<paths>({
    ...options,
    baseUrl: `${address.replace(/\/+$/, '')}/api/v1`,
    headers: mergeHeaders(
      { accept: 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) },
      headers,
    ),
  })

/** A refusal: `message` is a sentence of the node, `path` the member at fault. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly status: number
  /** Stable, for programs; `no_answer` when something other than a node answered. */
  readonly code: string
  readonly path: string | undefined

  constructor(status: number, code: string, message: string, path?: string) {
    super(message)
    this.status = status
    this.code = code
    this.path = path
  }
}

/** What came of a call. */
export interface Called<Answer> {
  data?: Answer
  error?: unknown
  response: Response
}

/** The answer alone.
 *  @throws ApiError when the call is refused */
export async function answerOf<Answer>(call: Promise<Called<Answer>>): Promise<Answer> {
  const { data, error, response } = await call
  if (response.ok) return data as Answer
  const refusal = typeof error === 'object' && error !== null ? (error as Partial<ApiError>) : {}
  const { code = 'no_answer', message = `The answer was HTTP ${response.status}.`, path } = refusal
  throw new ApiError(response.status, code, message, path)
}
