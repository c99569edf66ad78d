/** Checks a call and writes it as the JSON that is sent. Every fault is found here, at the call. */

import type { CallType, JsonObject } from './calls.ts'
import type { AnalyticsErrorCode } from './errors.ts'
import { AnalyticsError } from './errors.ts'
import { encode, isDeeperThan, MAX_CALL_BYTES, MAX_DEPTH, MAX_MESSAGE_ID_CHARACTERS } from './limits.ts'
import { randomId } from './random-id.ts'

declare const PACKAGE_VERSION: string

const LIBRARY = { name: '@postrider/analytics', version: PACKAGE_VERSION }

/** The members that every call may have, beside `timestamp`. */
const common = ['userId', 'anonymousId', 'messageId', 'context', 'integrations']
const view = ['name', 'category', 'properties']

/** The members that a call may have as well. */
const members: Record<CallType, readonly string[]> = {
  identify: ['traits'],
  track: ['event', 'properties'],
  page: [...view, 'traits'],
  screen: view,
  group: ['groupId', 'traits'],
  alias: ['previousId'],
}

/** The members that are objects. All others are strings, of which those named `…Id` are held to more. */
const objects = ['context', 'integrations', 'properties', 'traits']

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

/** A message as the queue takes it. */
export interface QueuedMessage {
  json: string
  /** `json` in UTF-8; good until the next message is written. */
  bytes: Uint8Array
}

export interface WrittenMessage extends QueuedMessage {
  messageId: string
}

/**
 * The message of a call. Members that are null or undefined count as absent.
 * @throws AnalyticsError naming the member: one is missing, has the wrong type or is not known, or the message is
 *   over 32 KB
 */
export function writeMessage(type: CallType, call: unknown, now: Date): WrittenMessage {
  if (!isObject(call)) throw fault('wrong_type', type, 'the call must be: object')
  check(type, call)
  const messageId = (call.messageId as string | null | undefined) ?? randomId()
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
    if (!common.includes(member) && !members[type].includes(member)) {
      throw fault('unknown_member', type, `${member} is unknown`, member)
    }
    if (objects.includes(member)) {
      if (!isObject(value)) throw wrongType(type, member, 'object')
    } else if (typeof value !== 'string') {
      throw wrongType(type, member, 'string')
    } else if (member.endsWith('Id') && /\0|\p{Surrogate}/u.test(value)) {
      // Databases cannot hold NUL, and UTF-8 cannot hold half a surrogate pair.
      throw wrongType(type, member, 'well-formed string')
    }
  }
  for (const member of required[type] ?? []) {
    if (!call[member]) throw fault('required', type, `${member} is required`, member)
  }
  if (!call.userId && !call.anonymousId) {
    throw fault('id_required', type, 'userId or anonymousId is required', 'userId')
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
  if (value instanceof Date && isValid(value)) return value.toISOString()
  const [, day, time = '00:00'] = (typeof value === 'string' && isoTime.exec(value)) || []
  const date = new Date(`${day}T${time.replace(',', '.')}Z`)
  // Date reads the 30th of February as a day in March.
  if (!isValid(date) || !date.toISOString().startsWith(`${day}`)) {
    throw wrongType(type, 'timestamp', 'Date or ISO 8601')
  }
  return value as string
}

function isValid(date: Date): boolean {
  return !Number.isNaN(date.getTime())
}

function stringify(type: CallType, message: JsonObject): string {
  try {
    return JSON.stringify(message)
  } catch (cause) {
    const member = largestMember(message)
    throw fault('not_serializable', type, `${member} cannot be written as JSON`, member, { cause })
  }
}

/** The member whose JSON is the longest; one that has none, because it cannot be written, counts as longer still. */
function largestMember(message: JsonObject): string | undefined {
  const size = (name: string) => {
    try {
      return JSON.stringify(message[name])?.length ?? 0
    } catch {
      return Number.MAX_SAFE_INTEGER
    }
  }
  return Object.keys(message).sort((a, b) => size(b) - size(a))[0]
}

/** Names the largest member: what takes most of the room is also where the nesting is. */
function tooMuch(code: 'too_large' | 'too_deep', what: string, type: CallType, message: JsonObject): AnalyticsError {
  const member = largestMember(message)
  return fault(code, type, `${what}, most of it in ${member}`, member)
}

/** Whether it is an object as JSON has them: neither a list nor a date. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}

function wrongType(type: CallType, member: string, expected: string): AnalyticsError {
  return fault('wrong_type', type, `${member} must be: ${expected}`, member)
}

function fault(code: AnalyticsErrorCode, type: CallType, text: string, member?: string, options?: ErrorOptions) {
  return new AnalyticsError(code, `${type}: ${text}`, member, options)
}
