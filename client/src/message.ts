/** Checks a call and writes it as the JSON that is sent. Every fault is found here, at the call. */

import type { CallType, JsonObject } from './calls.ts'
import { AnalyticsError } from './errors.ts'
import { MAX_CALL_BYTES, utf8Bytes } from './limits.ts'

declare const PACKAGE_VERSION: string

const MAX_MESSAGE_ID_CHARACTERS = 100
const LIBRARY = { name: '@postrider/analytics', version: PACKAGE_VERSION }

type Kind = 'string' | 'object'
interface Rule {
  /** `userId` or `anonymousId` must be there. */
  identity?: true
  required?: readonly string[]
  members: Readonly<Record<string, Kind>>
}

const common = {
  userId: 'string',
  anonymousId: 'string',
  messageId: 'string',
  context: 'object',
  integrations: 'object',
} as const
const view = { ...common, name: 'string', category: 'string', properties: 'object' } as const

const rules: Record<CallType, Rule> = {
  identify: { identity: true, members: { ...common, traits: 'object' } },
  track: { identity: true, required: ['event'], members: { ...common, event: 'string', properties: 'object' } },
  page: { members: view },
  screen: { members: view },
  group: { identity: true, required: ['groupId'], members: { ...common, groupId: 'string', traits: 'object' } },
  alias: { required: ['userId', 'previousId'], members: { ...common, previousId: 'string' } },
}

/** The members of a page's properties that destinations know: `spec/`, "Messages". */
const pageMembers = ['url', 'title', 'referrer', 'path']

export interface WrittenMessage {
  messageId: string
  json: string
  /** Length of `json` in UTF-8 bytes. */
  bytes: number
}

/**
 * The message of a call. Members that are null or undefined count as absent.
 * @throws AnalyticsError naming the member: one is missing, has the wrong type or is not known, or the message is
 *   over 32 KB
 */
export function writeMessage(type: CallType, call: unknown, now: Date): WrittenMessage {
  if (!isObject(call)) throw new AnalyticsError('wrong_type', `${type} takes an object`)
  check(type, call)
  const messageId = (call.messageId as string | undefined) ?? crypto.randomUUID()
  const message = {
    ...call,
    type,
    messageId,
    timestamp: readTimestamp(type, call.timestamp ?? now),
    context: { library: LIBRARY, ...(call.context as JsonObject | undefined) },
  }
  const json = stringify(type, message)
  const bytes = utf8Bytes(json, MAX_CALL_BYTES)
  if (bytes === undefined) {
    const member = largestMember(message)
    throw new AnalyticsError('too_large', `${type}: over ${MAX_CALL_BYTES} bytes, most of it in ${member}`, member)
  }
  return { messageId, json, bytes }
}

function check(type: CallType, call: JsonObject): void {
  const rule = rules[type]
  for (const member in call) {
    const value = call[member]
    if (value === undefined || value === null || member === 'timestamp') continue
    const kind = Object.hasOwn(rule.members, member) ? rule.members[member] : undefined
    if (kind === undefined) {
      throw new AnalyticsError('unknown_member', `${type} has no member ${member}`, member)
    }
    if (kind === 'string' ? typeof value !== 'string' : !isObject(value)) throw wrongType(type, member, kind)
  }
  for (const member of rule.required ?? []) {
    if (!call[member]) throw new AnalyticsError('required', `${type}: ${member} is required`, member)
  }
  if (rule.identity && !call.userId && !call.anonymousId) {
    throw new AnalyticsError('id_required', `${type}: userId or anonymousId is required`, 'userId')
  }
  if (
    typeof call.messageId === 'string' &&
    (call.messageId === '' || call.messageId.length > MAX_MESSAGE_ID_CHARACTERS)
  ) {
    throw wrongType(type, 'messageId', `string of 1 to ${MAX_MESSAGE_ID_CHARACTERS} characters`)
  }
  if (type === 'page') checkPage((call.properties as JsonObject | null | undefined) ?? {})
  checkIntegrations(type, (call.integrations as JsonObject | null | undefined) ?? {})
}

function checkPage(properties: JsonObject): void {
  for (const member of pageMembers) {
    const value = properties[member] ?? ''
    if (typeof value !== 'string') throw wrongType('page', `properties.${member}`, 'string')
  }
}

function checkIntegrations(type: CallType, integrations: JsonObject): void {
  for (const name in integrations) {
    const value = integrations[name]
    if (typeof value !== 'boolean' && !isObject(value)) throw wrongType(type, `integrations.${name}`, 'boolean')
  }
}

function readTimestamp(type: CallType, value: unknown): string {
  const date = typeof value === 'string' && /^\d{4}-\d\d/.test(value) ? new Date(value) : value
  if (!(date instanceof Date) || Number.isNaN(date.getTime())) throw wrongType(type, 'timestamp', 'Date or ISO 8601')
  return date.toISOString()
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

function largestMember(message: JsonObject): string | undefined {
  const size = (name: string) => (JSON.stringify(message[name]) ?? '').length
  return Object.keys(message).sort((a, b) => size(b) - size(a))[0]
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}

function wrongType(type: CallType, member: string, expected: string): AnalyticsError {
  return new AnalyticsError('wrong_type', `${type}: ${member} must be a ${expected}`, member)
}
