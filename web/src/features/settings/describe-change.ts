/** An entry of the audit log in words. */

import type { AuditEntry } from '../../../../src/schemas/audit.ts'

const nouns: Record<string, string> = {
  sources: 'source',
  destinations: 'destination',
  audiences: 'audience',
  deliveries: 'delivery',
  tokens: 'API token',
  session: 'session',
  'deletion-requests': 'deletion request',
  suppressions: 'suppressions',
  alerts: 'alert',
  'alert-rules': 'alert rules',
  'alert-channels': 'alert channel',
}

const verbs: Record<string, string> = {
  create: 'Created',
  update: 'Changed',
  replace: 'Replaced',
  delete: 'Deleted',
  'rotate-key': 'Replaced the write key of',
  'previous-keys.delete': 'Ended the old write keys of',
  test: 'Sent a test event to',
  retry: 'Retried',
  redeliver: 'Redelivered',
  cancel: 'Cancelled',
  pause: 'Paused the schedule of',
  resume: 'Resumed the schedule of',
  mute: 'Muted',
  lift: 'Lifted',
  sync: 'Synced',
  resync: 'Sent every member of',
  backfill: 'Ran the missed syncs of',
  members: 'Changed the members of',
  'members.create': 'Changed members of',
  'members.replace': 'Uploaded the members of',
  'syncs.confirm': 'Confirmed a sync of',
  'syncs.stop': 'Stopped a sync of',
  'syncs.undo': 'Undid a sync of',
}

/** Actions that no verb and noun tell. */
const sentences: Record<string, string> = {
  'alert-channels.test': 'Sent a test alert to channel',
  'deliveries.bulk.stop': 'Stopped an action on many deliveries',
  'destinations.hold': 'Held destination while it fails',
  'destinations.resume': 'Resumed destination, since it answers',
}

/** What was done, as in `Changed source`. */
export function describeAction(entry: AuditEntry): string {
  const { action, subject, outcome } = entry
  if (outcome === 'refused') return 'Tried to sign in with a wrong token'
  const told = sentences[action]
  if (told !== undefined) return told
  if (action === 'destinations.test' && subject === 'destinations')
    return 'Sent a test event to an endpoint as it was typed'
  if (action === 'alerts.mute' && isUnmuted(entry)) return 'Unmuted alert'
  const [resource = '', ...rest] = action.split('.')
  const isMany = resource === 'deliveries' && !subject.includes('/')
  const noun = isMany || matchedBy(entry) !== undefined ? 'deliveries' : (nouns[resource] ?? resource)
  return `${verbs[rest.join('.')] ?? rest.join(' ')} ${noun}`
}

/** What it was done to: its name, or its id when it has none; empty where the action says it all. */
export function subjectName(entry: AuditEntry): string {
  const { subject, before, after } = entry
  const matched = matchedBy(entry)
  if (matched !== undefined) return `${matched.toLocaleString()} that matched a filter`
  const users = usersOf(entry)
  if (users !== undefined) return `of ${users.toLocaleString()} ${users === 1 ? 'user' : 'users'}`
  for (const state of [after, before])
    if (typeof state === 'object' && state !== null && 'name' in state && typeof state.name === 'string')
      return state.name
  if (entry.action === 'deliveries.bulk.stop' || !subject.includes('/')) return ''
  const [, messageId, redelivery] = deliveryOfMessage.exec(subject) ?? []
  if (messageId === undefined) return subject.slice(subject.indexOf('/') + 1)
  return redelivery === undefined ? messageId : `${messageId}, redelivery ${redelivery}`
}

/** A delivery is named by its message, as senders and receivers know it. */
const deliveryOfMessage = /^deliveries\/event\/[^/]+\/(.+?)(?:\/redelivery\/(\d+))?$/

/** How many deliveries an action was for that took all that match a filter; undefined for any other. */
export function matchedBy({ action, after }: AuditEntry): number | undefined {
  if (!action.startsWith('deliveries.') || typeof after !== 'object' || after === null) return undefined
  return 'matched' in after && typeof after.matched === 'number' ? after.matched : undefined
}

/** How many users were to be deleted, or had their suppressions lifted; undefined for any other action. */
function usersOf({ action, after }: AuditEntry): number | undefined {
  if (typeof after !== 'object' || after === null) return undefined
  if (action === 'deletion-requests.create' && 'users' in after) return Number(after.users)
  return action === 'suppressions.lift' && 'lifted' in after ? Number(after.lifted) : undefined
}

/** A mute of no seconds ends one. */
const isUnmuted = ({ after }: AuditEntry): boolean =>
  typeof after === 'object' && after !== null && 'mutedUntil' in after && after.mutedUntil === null

/** What is no setting: that it was changed, and how the endpoints of a destination do. */
const noSettings = ['updatedAt', 'endpoints']

interface Difference {
  /** Of the setting, as in `settings.webhooks.0.url`. */
  path: string
  before: string
  after: string
}

/** Settings that differ, with both values as JSON. */
export function differences(before: unknown, after: unknown): Difference[] {
  const [old, now] = [flat(before), flat(after)]
  return [...new Map([...old, ...now])]
    .filter(([key]) => old.get(key)?.value !== now.get(key)?.value)
    .map(([key, { path }]) => ({ path, before: old.get(key)?.value ?? '–', after: now.get(key)?.value ?? '–' }))
}

interface Setting {
  path: string
  /** As JSON. */
  value: string
}

/** Settings by what tells them apart. */
function flat(value: unknown, path = '', key = path, into = new Map<string, Setting>()): Map<string, Setting> {
  if (typeof value !== 'object' || value === null) {
    if (path !== '') into.set(key, { path, value: JSON.stringify(value ?? null) })
    return into
  }
  for (const [name, member] of Object.entries(value)) {
    if (path === '' && noSettings.includes(name)) continue
    // In which place of a list a text stands, such as an id, says nothing.
    if (Array.isArray(value) && typeof member === 'string') flat(member, path, `${path} ${member}`, into)
    else flat(member, path === '' ? name : `${path}.${name}`, undefined, into)
  }
  return into
}
