/** Faults of events in words for the caller. */

import { AppError } from '../errors.ts'
import type { EventFault, EventFaultCode, Read } from '../schemas/source-event.ts'
import { maxMessageIdLength } from '../schemas/source-event.ts'
import { eventTypes } from '../schemas/message.ts'
import { maxCallBytes, maxDepth } from './limits.ts'

const identityRule =
  'every call names a userId or an anonymousId, group also a groupId, alias a previousId and a userId'

const predicates: Record<EventFaultCode, string> = {
  bad_request: 'must be an object',
  type_unknown: `must be one of ${eventTypes.join(', ')}`,
  id_required: `is missing: ${identityRule}`,
  id_not_string: 'must be a string, or a number that is exact (at most 2^53 - 1)',
  id_too_long: `must have at most ${maxMessageIdLength} characters`,
  id_malformed: 'must not contain NUL or half a surrogate pair',
  event_not_defined: 'is missing: a track call names its event',
  event_not_string: 'must be a string',
  name_not_string: 'must be a string',
  properties_not_object: 'must be an object',
  traits_not_object: 'must be an object',
  context_not_object: 'must be an object',
  integrations_not_object: 'must be an object',
  timestamp_malformed: 'must be an ISO 8601 date-time, such as 2026-01-31T12:00:00.000Z',
  too_deep: `must not be nested deeper than ${maxDepth} levels`,
  call_too_large: `must be at most ${maxCallBytes} bytes of JSON`,
}

/** Where the fault is, seen from the request: `batch[3]` and `userId` become `batch[3].userId`. */
export const faultPath = (base: string, fault: EventFault): string =>
  base === '' || fault.path === '' ? base + fault.path : `${base}.${fault.path}`

/** One sentence that names the member and what is expected of it. */
export const faultSentence = (path: string, code: EventFaultCode): string =>
  `${path === '' ? 'The call' : path} ${predicates[code]}.`

/** The error that answers a request with this fault. */
export const refusal = (fault: EventFault): AppError =>
  new AppError(fault.code, faultSentence(fault.path, fault.code), fault.path === '' ? {} : { path: fault.path })

/** The value that was read.
 *  @throws AppError with the fault of one that could not be */
export function expectRead<T>(result: Read<T>): T {
  if (result.ok) return result.value
  throw refusal(result.fault)
}
