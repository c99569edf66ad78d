/** What sources send: unknown JSON becomes an event, or a fault that names the member. */

import { z } from 'zod'
import { parseIsoTime } from './iso-time.ts'
import { eventTypes } from './message.ts'
import type { EventType } from './message.ts'

/** Longest `messageId`, in characters as people count them: a surrogate pair is one. */
export const maxMessageIdLength = 100

/** What can be wrong with one event. Each is also a row of the error catalog, in `src/errors.ts`. */
export const eventFaultCodes = [
  'bad_request',
  'type_unknown',
  'id_required',
  'id_not_string',
  'id_too_long',
  'id_malformed',
  'event_not_defined',
  'event_not_string',
  'name_not_string',
  'properties_not_object',
  'traits_not_object',
  'context_not_object',
  'integrations_not_object',
  'timestamp_malformed',
  'too_deep',
  'call_too_large',
] as const
export type EventFaultCode = (typeof eventFaultCodes)[number]

/** One fault; `path` is the member inside the event, empty for the event itself. */
export interface EventFault {
  code: EventFaultCode
  path: string
}

/** An object as JSON has it; its members are not checked. */
export type JsonObject = Record<string, unknown>

/** Many libraries write `null` for what the caller left out. */
const isAbsent = (value: unknown): value is null | undefined => value === null || value === undefined

const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** An object that is kept as it is, by reference: copying payloads would cost more than all other checks together. */
const objectOr = (code: EventFaultCode) =>
  z.custom<JsonObject | null | undefined>((value) => isAbsent(value) || isJsonObject(value), { error: code }).optional()

const stringOr = (code: EventFaultCode) => z.string({ error: code }).nullish()

/** An id: `null` and `''` are absent ids; numbers become strings as long as they are exact. */
const IdSchema = z
  .unknown()
  .transform((value, context): string | undefined => {
    if (isAbsent(value) || value === '') return undefined
    if (typeof value === 'number' && isExact(value)) return String(value)
    if (typeof value === 'string' && isStorable(value)) return value
    context.issues.push({
      code: 'custom',
      message: typeof value === 'string' ? 'id_malformed' : 'id_not_string',
      input: value,
    })
    return z.NEVER
  })
  .optional()

/** Beyond 2^53 the digits that the caller sent are lost already, and two users would share one id. */
const isExact = (value: number): boolean => Number.isFinite(value) && Math.abs(value) <= Number.MAX_SAFE_INTEGER

/** PostgreSQL cannot hold NUL, and UTF-8 cannot hold half a surrogate pair. */
const isStorable = (id: string): boolean => !id.includes('\0') && !/\p{Surrogate}/u.test(id)

const MessageIdSchema = IdSchema.refine(
  (id) => id === undefined || id.length <= maxMessageIdLength || Array.from(id).length <= maxMessageIdLength,
  { error: 'id_too_long' },
)

/** Milliseconds since 1970. */
const TimeSchema = z
  .unknown()
  .transform((value, context): number | undefined => {
    if (isAbsent(value) || value === '') return undefined
    const time = typeof value === 'string' ? parseIsoTime(value) : undefined
    if (time !== undefined) return time
    context.issues.push({ code: 'custom', message: 'timestamp_malformed', input: value })
    return z.NEVER
  })
  .optional()

/** Libraries fill `sentAt` in, not callers: one that cannot be read is no reason to lose an event. */
const SentAtSchema = z
  .unknown()
  .transform((value): number | undefined => (typeof value === 'string' ? parseIsoTime(value) : undefined))
  .optional()

/** Anything but a string opens nothing, and is answered like a missing write key. */
const WriteKeySchema = z
  .unknown()
  .transform((value): string | undefined => (typeof value === 'string' ? value : undefined))
  .optional()

/** One call of a client library. Members that are not listed here are dropped: those inside `context`, `properties`
 *  and `traits` stay untouched. `type` is checked apart, since on the paths of single calls the path says it. */
export const SourceEventSchema = z.object(
  {
    type: z.unknown().optional(),
    messageId: MessageIdSchema,
    userId: IdSchema,
    anonymousId: IdSchema,
    groupId: IdSchema,
    previousId: IdSchema,
    event: stringOr('event_not_string'),
    name: stringOr('name_not_string'),
    category: stringOr('name_not_string'),
    properties: objectOr('properties_not_object'),
    traits: objectOr('traits_not_object'),
    context: objectOr('context_not_object'),
    integrations: objectOr('integrations_not_object'),
    timestamp: TimeSchema,
    originalTimestamp: TimeSchema,
    sentAt: SentAtSchema,
  },
  { error: 'bad_request' },
)
export type SourceEvent = Omit<z.infer<typeof SourceEventSchema>, 'type'> & { type: EventType }

/** The members that every request may carry beside its event. */
export const SingleEnvelopeSchema = z.object({ writeKey: WriteKeySchema }, { error: 'bad_request' })

/** The members around the events of a batch; `batch` is checked apart, after the write key. */
export const BatchEnvelopeSchema = z.object(
  {
    writeKey: WriteKeySchema,
    batch: z.unknown().optional(),
    sentAt: SentAtSchema,
    context: objectOr('context_not_object'),
    integrations: objectOr('integrations_not_object'),
  },
  { error: 'bad_request' },
)

/** What was read, or its first fault. */
export type Read<T> = { ok: true; value: T } | { ok: false; fault: EventFault }

/** Reads `value` by one of the schemas of this file.
 *  @returns the first fault when it does not fit */
export function readJson<T>(schema: z.ZodType<T>, value: unknown): Read<T> {
  const result = schema.safeParse(value)
  if (result.success) return { ok: true, value: result.data }
  const issue = result.error.issues[0]
  const code = eventFaultCodes.find((known) => known === issue?.message) ?? 'bad_request'
  return fault(code, issue?.path.join('.') ?? '')
}

/** Reads one event.
 *  @param pathType  the type when the request's path says it; it outranks the event's own
 *  @see `spec/`, "Messages" (identity rule) and "Delivered message bodies" */
export function readSourceEvent(value: unknown, pathType: EventType | undefined): Read<SourceEvent> {
  const result = readJson(SourceEventSchema, value)
  if (!result.ok) return result
  const type = pathType ?? eventTypes.find((known) => known === result.value.type)
  if (type === undefined) return fault('type_unknown', 'type')
  const event: SourceEvent = Object.assign(result.value, { type })
  const missing = missingMember(event)
  return missing === undefined ? { ok: true, value: event } : { ok: false, fault: missing }
}

function missingMember(event: SourceEvent): EventFault | undefined {
  const hasIdentity = event.userId !== undefined || (event.type !== 'alias' && event.anonymousId !== undefined)
  if (!hasIdentity) return { code: 'id_required', path: 'userId' }
  if (event.type === 'track' && !event.event) return { code: 'event_not_defined', path: 'event' }
  if (event.type === 'group' && event.groupId === undefined) return { code: 'id_required', path: 'groupId' }
  if (event.type === 'alias' && event.previousId === undefined) return { code: 'id_required', path: 'previousId' }
  return undefined
}

const fault = (code: EventFaultCode, path: string): { ok: false; fault: EventFault } => ({
  ok: false,
  fault: { code, path },
})
