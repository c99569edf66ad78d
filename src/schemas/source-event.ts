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

/** One fault of an event. */
export interface EventFault {
  /** What is wrong. */
  code: EventFaultCode
  /** The member inside the event, as in `context.ip`; empty for the event itself. */
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
    type: z.unknown().optional().describe('Type of the call; where the path says it, the path counts'),
    messageId: MessageIdSchema.describe('Id of the event, at most 100 characters; made unless given'),
    userId: IdSchema.describe('User of the event; a number becomes a string'),
    anonymousId: IdSchema.describe('User that is not known by name; enough for all but alias calls'),
    groupId: IdSchema.describe('Group of a group call, which must have it'),
    previousId: IdSchema.describe('Former id of an alias call, which must have it'),
    event: stringOr('event_not_string').describe("Name of a track call's event, which must have it"),
    name: stringOr('name_not_string').describe('Name of a page or screen'),
    category: stringOr('name_not_string').describe('Category of a page or screen'),
    properties: objectOr('properties_not_object').describe(
      'Properties of a track, page or screen call, kept as they are',
    ),
    traits: objectOr('traits_not_object').describe('Traits of an identify or group call, kept as they are'),
    context: objectOr('context_not_object').describe('Context of the call, kept as it is'),
    integrations: objectOr('integrations_not_object').describe(
      'Names of destinations, or `All`, to booleans: where the event goes',
    ),
    timestamp: TimeSchema.describe('When it happened, ISO 8601; in milliseconds since 1970 once read'),
    originalTimestamp: TimeSchema.describe(
      'When it happened by the clock of the caller, ISO 8601; in milliseconds since 1970 once read',
    ),
    sentAt: SentAtSchema.describe(
      'When it was sent by the clock of the caller, ISO 8601; one that cannot be read is left out',
    ),
  },
  { error: 'bad_request' },
)
export type SourceEvent = Omit<z.infer<typeof SourceEventSchema>, 'type'> & {
  /** From the path, or its own. */
  type: EventType
}

/** The members that every request may carry beside its event. */
export const SingleEnvelopeSchema = z.object(
  { writeKey: WriteKeySchema.describe('Write key of the source, in place of the Authorization header') },
  { error: 'bad_request' },
)

/** The members around the events of a batch; `batch` is checked apart, after the write key. */
export const BatchEnvelopeSchema = z.object(
  {
    writeKey: WriteKeySchema.describe('Write key of the source, in place of the Authorization header'),
    batch: z.unknown().optional().describe('The events, at most 2,500'),
    sentAt: SentAtSchema.describe(
      'When the batch was sent by the clock of the caller, ISO 8601; for events that have none',
    ),
    context: objectOr('context_not_object').describe('Context of events that have none'),
    integrations: objectOr('integrations_not_object').describe('Where events go that do not say it themselves'),
  },
  { error: 'bad_request' },
)

/** What was read, or its first fault. */
export type Read<T> =
  | {
      ok: true
      /** What was read. */
      value: T
    }
  | {
      ok: false
      /** The first thing that is wrong. */
      fault: EventFault
    }

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
