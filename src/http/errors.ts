/** One shape for every error that leaves the server: `{"success":false,"code","message","path"?}`. */

import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError, PartAwayError } from '../errors.ts'
import type { ErrorCode } from '../errors.ts'

/** Body of an error's answer. */
export interface ErrorBody {
  success: false
  code: ErrorCode
  message: string
  /** The member at fault, as in `settings.webhooks[0].url`. */
  path?: string
}

/** Answers all errors and unknown paths of `app` in one shape, and logs those that are the server's. */
export function answerErrors(app: FastifyInstance): void {
  app.setErrorHandler(sendError)
  app.setNotFoundHandler(async () => {
    throw notFound()
  })
  // Fastify reads the body of any request first: for a path that nothing is at, it would be kept for nothing.
  app.addHook('onRequest', (request, _reply, done) => (request.is404 ? done(notFound()) : done()))
}

const notFound = (): AppError => new AppError('not_found', 'Nothing is at this path, or not for this method.')

/** Answers `error`. Made for Fastify's `frameworkErrors` too, which sees the errors from before routing. */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const known = toAppError(error)
  logError(known, error, request)
  if (known.retryAfterSeconds !== undefined) void reply.header('retry-after', Math.ceil(known.retryAfterSeconds))
  // The rest of such a request is not waited for.
  if (known.code === 'request_timeout') void reply.header('connection', 'close')
  void reply.code(known.status).send(errorBody(known))
}

export const errorBody = (error: AppError): ErrorBody => ({
  success: false,
  code: error.code,
  message: messageOf(error),
  ...(error.path === undefined ? {} : { path: error.path }),
})

/** A whole sentence; who is refused for a while is told until when. */
function messageOf({ message, path, retryAfterSeconds }: AppError): string {
  // A member keeps the name that the caller knows it by.
  const beginsWithName = path !== undefined && message.startsWith(path)
  const begun = beginsWithName ? message : message.charAt(0).toUpperCase() + message.slice(1)
  const said = begun.replace(/\.$/, '')
  return retryAfterSeconds === undefined ? `${said}.` : `${said}; try again in ${Math.ceil(retryAfterSeconds)} s.`
}

/** Codes for the statuses of Fastify's own errors; its other 4xx are bad requests. */
const codesByStatus: Record<number, ErrorCode> = {
  404: 'not_found',
  405: 'method_not_allowed',
  408: 'request_timeout',
  413: 'too_large',
  415: 'unsupported_media_type',
  429: 'too_many_requests',
}

/** Fastify's own errors in words that say how to mend them, by its codes. */
const words: Record<string, string> = {
  FST_ERR_CTP_INVALID_JSON_BODY: 'The body is not valid JSON: check it for a missing quote, comma or bracket.',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'The body is empty: send JSON, or leave out the content type.',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'The body has a content type that this call does not read: send application/json.',
  FST_ERR_BAD_URL: 'The path is not a valid one: check what stands after its %.',
  FST_ERR_CTP_BODY_TOO_LARGE: 'The body is larger than this call accepts: send less at a time.',
}

/** Codes by which PostgreSQL refuses a text with the character NUL, by itself or in JSON. */
const nulCodes = ['22021', '22P05']

/** What the parts of a request are called where a part as a whole is at fault. */
const placeNames = { body: 'the body', querystring: 'the query', params: 'the path', headers: 'the header' }

/** The error that the caller gets. What is unknown becomes `internal_error`, whose message says nothing. */
function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  const { code = '', statusCode, message, validation, validationContext } = error as Partial<FastifyError>
  if (nulCodes.includes(code))
    return new AppError('bad_request', 'A text has the character NUL (U+0000), which cannot be kept: leave it out.')
  const fault = validation?.[0]
  if (fault !== undefined) {
    const path = memberPath(`${fault.instancePath}/${unknownMember(fault.params) ?? ''}`)
    const sentence = `${path || placeNames[validationContext ?? 'body']} ${fault.message ?? 'is not valid'}`
    return new AppError('bad_request', sentence, path === '' ? {} : { path })
  }
  if (typeof statusCode !== 'number' || statusCode < 400 || statusCode >= 500)
    return new AppError('internal_error', 'The server failed; its log has the details.', { cause: error })
  return new AppError(codesByStatus[statusCode] ?? 'bad_request', words[code] ?? message ?? 'The request is not valid.')
}

/** The first member that the schema does not know, when that is the fault. */
const unknownMember = (params: Record<string, unknown> | undefined): string | undefined =>
  Array.isArray(params?.['keys']) ? String(params['keys'][0]) : undefined

/** `/settings/webhooks/0/url` → `settings.webhooks[0].url` */
const memberPath = (pointer: string): string =>
  pointer
    .split('/')
    .filter((part) => part !== '')
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : path === '' ? part : `${path}.${part}`), '')

function logError(known: AppError, error: unknown, request: FastifyRequest): void {
  const { log } = request
  const { code, status } = known
  const facts = { method: request.method, path: pathOf(request), status, code }
  if (code === 'internal_error')
    log.error(
      { ...facts, error: reasonOf(error), stack: error instanceof Error ? error.stack : undefined },
      'request.failed',
    )
  else if (status >= 500 && !(known instanceof PartAwayError))
    // Without a stack: while nothing takes events there are many of them, and all from one place.
    log.warn({ ...facts, error: reasonOf(known) }, 'request.unavailable')
  else log.debug({ ...facts, member: known.path }, 'request.refused')
}

/** The path of the route, without ids: one is a write key, and of ids of deliveries callers choose a part. What no route takes is shown as it
 *  was called, but for its query and for what looks like such an id. */
const pathOf = ({ url, routeOptions: { url: route = '*' } }: FastifyRequest): string =>
  route.includes('*')
    ? url
        .replace(/\?.*/s, '')
        .replace(/(?<=\/(deliveries|projects)\/).*/s, ':id')
        .replace(/[^/]*%2F[^/]*/gi, ':id')
    : route

/** Nothing else of an error is logged: those of the database carry rows. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { message, cause } = error
  return cause instanceof Error ? `${message}: ${cause.message}` : message
}
