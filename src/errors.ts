/** Every error that a caller can see: a stable code, the HTTP status it answers with, and what it means. */

/** Code → HTTP status and meaning. `docs/errors.md` lists the same rows; a test compares the two. */
export const errorCatalog = {
  bad_request: { status: 400, meaning: 'The request is not JSON, or a member is missing, malformed or unknown.' },
  type_unknown: { status: 400, meaning: '`type` is missing or none of the call types.' },
  id_required: { status: 400, meaning: 'An id that the call needs is missing.' },
  id_not_string: { status: 400, meaning: 'An id is neither a string nor an exact number.' },
  id_too_long: { status: 400, meaning: 'A `messageId` has more than 100 characters.' },
  id_malformed: { status: 400, meaning: 'An id contains NUL or half a surrogate pair.' },
  event_not_defined: { status: 400, meaning: 'A track call does not name its event.' },
  event_not_string: { status: 400, meaning: 'The name of an event is not a string.' },
  name_not_string: { status: 400, meaning: '`name` or `category` is not a string.' },
  properties_not_object: { status: 400, meaning: '`properties` is not an object.' },
  traits_not_object: { status: 400, meaning: '`traits` is not an object.' },
  context_not_object: { status: 400, meaning: '`context` is not an object.' },
  integrations_not_object: { status: 400, meaning: '`integrations` is not an object.' },
  timestamp_malformed: { status: 400, meaning: 'A time is not an ISO 8601 date-time.' },
  too_deep: { status: 400, meaning: 'A call is nested deeper than 100 levels.' },
  call_too_large: { status: 400, meaning: 'A call is larger than 32,768 bytes.' },
  empty_batch: { status: 400, meaning: 'A batch request has no `batch`.' },
  unauthorized: { status: 401, meaning: 'The token or the session is missing, wrong or over.' },
  unknown_write_key: { status: 401, meaning: 'No source has this write key, or two different keys were sent.' },
  source_disabled: { status: 401, meaning: 'The source of this write key is switched off.' },
  forbidden: {
    status: 403,
    meaning: 'The role may not do this, or a request with a cookie does not come from the web app.',
  },
  not_found: { status: 404, meaning: 'Nothing has this id, or is at this path for this method.' },
  method_not_allowed: {
    status: 405,
    meaning: 'A path that events are sent to was called with another method than POST.',
  },
  request_timeout: { status: 408, meaning: 'The request took too long to arrive.' },
  conflict: { status: 409, meaning: 'The request does not fit the present state.' },
  erased: { status: 410, meaning: 'The user of the event was deleted, and its data is erased for good.' },
  too_large: { status: 413, meaning: 'The request is larger than the limit, or a batch has more than 2,500 events.' },
  unsupported_media_type: {
    status: 415,
    meaning: 'The body has an encoding or a content type that the call does not read.',
  },
  inbox_full: { status: 429, meaning: 'Too many events wait for delivery to start; try again after `Retry-After`.' },
  too_many_requests: { status: 429, meaning: 'Too many tries, events or requests; wait for `Retry-After`.' },
  internal_error: { status: 500, meaning: 'A fault of the server; the log has the details.' },
  unavailable: {
    status: 503,
    meaning: 'A part that the request needs is away, or nothing can hold it; try again after `Retry-After`.',
  },
} as const

export type ErrorCode = keyof typeof errorCatalog

interface AppErrorOptions extends ErrorOptions {
  /** Path of the member at fault, as in `settings.webhooks[0].url`. */
  path?: string
  /** Seconds after which another try makes sense. */
  retryAfterSeconds?: number
}

/** An error whose code and message are meant for the caller. Its status follows from the code. */
export class AppError extends Error {
  override name = 'AppError'
  readonly code: ErrorCode
  readonly path: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options)
    this.code = code
    this.path = options.path
    this.retryAfterSeconds = options.retryAfterSeconds
  }

  get status(): number {
    return errorCatalog[this.code].status
  }
}

/** What a node stands on. */
export type PartName = 'database' | 'temporal' | 'worker'

/** How a text begins that tells of a part. */
export const partTexts: Record<PartName, string> = {
  database: 'The database',
  temporal: 'Temporal',
  worker: 'The worker',
}

/** A part that the node stands on is away for the moment: the answer says which one, and when to call again. */
export class PartAwayError extends AppError {
  override name = 'PartAwayError'
  readonly reason: string
  /** It was not tried to the end yet: as in every start. */
  readonly isOpening: boolean

  /** @param reason  why it is away; absent: it is being opened */
  constructor(part: PartName, reason?: string) {
    const why = reason ?? 'it is being opened'
    super('unavailable', `${partTexts[part]} is away: ${why}`, { retryAfterSeconds: 5 })
    this.reason = why
    this.isOpening = reason === undefined
  }
}

/** A reason not to start, shown to the operator in one line; the process ends with an exit code other than 0. */
export class StartError extends Error {
  override name = 'StartError'
}
