/** Checks a call and writes it as the JSON that is sent. Every fault is found here, at the call. */

import type { CallType, JsonObject } from './calls.ts'
import { AnalyticsError } from './errors.ts'
import { encode, isDeeperThan, MAX_CALL_BYTES, MAX_DEPTH } from './limits.ts'

declare const PACKAGE_VERSION: string

const MAX_MESSAGE_ID_CHARACTERS = 100
const LIBRARY = { name: '@postrider/analytics', version: PACKAGE_VERSION }

type Kind = 'string' | 'id' | 'object'

const common = { userId: 'id', anonymousId: 'id', messageId: 'id', context: 'object', integrations: 'object' } as const
const view = { ...common, name: 'string', category: 'string', properties: 'object' } as const

/** The members that a call may have, beside `timestamp`. */
const members: Record<CallType, Readonly<Record<string, Kind>>> = {
  identify: { ...common, traits: 'object' },
  track: { ...common, event: 'string', properties: 'object' },
  page: { ...view, traits: 'object' },
  screen: view,
  group: { ...common, groupId: 'id', traits: 'object' },
  alias: { ...common, previousId: 'id' },
}

/** The members that a call must have, beside an identity. */
const required: Partial<Record<CallType, readonly string[]>> = {
  track: ['event'],
  group: ['groupId'],
  alias: ['userId', 'previousId'],
}

/** The members of a page's properties that destinations know: `spec/`, "Messages". */
const pageMembers = ['url', 'title', 'referrer', 'path']

/** Date, and optionally time and zone; a time without a zone is UTC. The server reads all of these. */
const isoTime =
  /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)(?:Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?)?$/i

export interface WrittenMessage {
  messageId: string
  json: string
  /** `json` in UTF-8; good until the next message is written. */
  bytes: Uint8Array
}

/**
 * The message of a call. Members that are null or undefined count as absent.
 * @throws AnalyticsError naming the member: one is missing, has the wrong type or is not known, or the message is
 *   over 32 KB
 */
export function writeMessage(type: CallType, call: unknown, now: Date): WrittenMessage {
  if (!isObject(call)) throw new AnalyticsError('wrong_type', `${type} takes an object`)
  check(type, call)
  const messageId = (call.messageId as string | null | undefined) ?? crypto.randomUUID()
  // Object.assign, because V8 keeps what spread makes until the next full collection: that doubled a program's memory.
  const message: JsonObject = Object.assign({}, call, {
    type,
    messageId,
    timestamp: readTimestamp(type, call.timestamp ?? now),
    context: Object.assign({ library: LIBRARY }, call.context),
  })
  if (type === 'page') movePageTraits(message)
  const json = stringify(type, message)
  const bytes = encode(json)
  if (!bytes) throw tooMuch('too_large', `over ${MAX_CALL_BYTES} bytes`, type, message)
  if (isDeeperThan(MAX_DEPTH, json)) throw tooMuch('too_deep', `over ${MAX_DEPTH} levels`, type, message)
  return { messageId, json, bytes }
}

function check(type: CallType, call: JsonObject): void {
  for (const member in call) {
    const value = call[member]
    if (value === undefined || value === null || member === 'timestamp') continue
    const kind = Object.hasOwn(members[type], member) ? members[type][member] : undefined
    if (kind === undefined) throw new AnalyticsError('unknown_member', `${type} has no member ${member}`, member)
    if (kind === 'object' ? !isObject(value) : typeof value !== 'string') throw wrongType(type, member, kind)
    // Databases cannot hold NUL, and UTF-8 cannot hold half a surrogate pair.
    if (kind === 'id' && /\0|\p{Surrogate}/u.test(value as string)) throw wrongType(type, member, 'well-formed string')
  }
  for (const member of required[type] ?? []) {
    if (!call[member]) throw new AnalyticsError('required', `${type}: ${member} is required`, member)
  }
  if (!call.userId && !call.anonymousId) {
    throw new AnalyticsError('id_required', `${type}: userId or anonymousId is required`, 'userId')
  }
  const { messageId } = call
  if (messageId === '' || (typeof messageId === 'string' && messageId.length > MAX_MESSAGE_ID_CHARACTERS)) {
    throw wrongType(type, 'messageId', `string of 1 to ${MAX_MESSAGE_ID_CHARACTERS} characters`)
  }
  checkIntegrations(type, (call.integrations as JsonObject | null | undefined) ?? {})
}

/** A page's `traits` are the document's name for what is delivered as `properties`. */
function movePageTraits(message: JsonObject): void {
  const properties = {
    ...(message.traits as JsonObject | null | undefined),
    ...(message.properties as JsonObject | null),
  }
  for (const member of pageMembers) {
    if (typeof (properties[member] ?? '') !== 'string') throw wrongType('page', `properties.${member}`, 'string')
  }
  message.properties = properties
  delete message.traits
}

function checkIntegrations(type: CallType, integrations: JsonObject): void {
  for (const name in integrations) {
    const value = integrations[name]
    if (typeof value !== 'boolean' && !isObject(value)) throw wrongType(type, `integrations.${name}`, 'boolean')
  }
}

function readTimestamp(type: CallType, value: unknown): string {
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString()
  const [, day, time = '00:00'] = (typeof value === 'string' && isoTime.exec(value)) || []
  const date = new Date(`${day}T${time.replace(',', '.')}Z`)
  // Date reads the 30th of February as a day in March.
  if (Number.isNaN(date.getTime()) || !date.toISOString().startsWith(`${day}`)) {
    throw wrongType(type, 'timestamp', 'Date or ISO 8601')
  }
  return value as string
}

function stringify(type: CallType, message: JsonObject): string {
  try {
    return JSON.stringify(message)
  } catch (cause) {
    const member = Object.keys(message).find((name) => !isSerializable(message[name]))
    throw new AnalyticsError('not_serializable', `${type}: ${member} cannot be written as JSON`, member, { cause })
  }
}

function isSerializable(value: unknown): boolean {
  try {
    JSON.stringify(value)
    return true
  } catch {
    return false
  }
}

/** Names the largest member: what takes most of the room is also where the nesting is. */
function tooMuch(code: 'too_large' | 'too_deep', what: string, type: CallType, message: JsonObject): AnalyticsError {
  const size = (name: string) => (JSON.stringify(message[name]) ?? '').length
  const member = Object.keys(message).sort((a, b) => size(b) - size(a))[0]
  return new AnalyticsError(code, `${type}: ${what}, most of it in ${member}`, member)
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}

function wrongType(type: CallType, member: string, expected: string): AnalyticsError {
  return new AnalyticsError('wrong_type', `${type}: ${member} must be: ${expected}`, member)
}
