import type { Audience } from '../../schemas/audience.ts'
import { existing } from '../shared/lookup.ts'
import { CommandError } from '../shared/failure.ts'
import { audienceEntry, membershipEntry, sortedByName } from './current.ts'
import type { AudienceEntry, HeaderEntries, MembershipEntry, SecretReference } from './file.ts'
import {
  anotherSecret,
  changedMembers,
  expectKnown,
  planDeletions,
  refOf,
  sameMembers,
  type Change,
  type PlanContext,
  type Step,
  type View,
} from './change.ts'

export function planAudiences(context: PlanContext): Change[] {
  const { current, file } = context
  return [
    ...file.audiences.flatMap((entry) => planAudience(context, entry)),
    ...planDeletions(context, 'audiences', current.audiences, (audience) =>
      audienceEntry(audience, current.destinations),
    ),
  ]
}

function planAudience(context: PlanContext, entry: AudienceEntry): Change[] {
  const { current } = context
  const { name, paused } = entry
  expectKnown(context, 'destinations', entry.destinations ?? [], `audience ${name}`)
  const audience = existing(current.audiences, name)
  const after = viewOf(entry)

  if (audience === undefined) {
    const ref = refOf('audiences', name)
    const { key, kind } = entry
    const membership = entry.membership && membershipOf(context, entry.membership, true)
    const all = new Set(Object.keys(entry))
    const steps: Step[] = [
      { action: 'create', ref, body: { name, key, kind, ...commonOf(context, entry, all), membership } },
      ...(paused === true ? [{ action: 'update', id: ref, body: { paused } } as const] : []),
    ]
    return [{ kind: 'audiences', action: 'create', name, before: null, after, steps }]
  }

  const before = sameMembers(presentView(context, entry, audience), after)
  const changed = changedMembers(before, after)
  if (changed.size === 0) return []
  for (const member of ['key', 'kind'])
    if (changed.has(member))
      throw new CommandError('failed', `audience ${name}: its ${member} cannot be changed; delete it first`)
  const membership =
    changed.has('membership') && entry.membership
      ? {
          ...keptMembers(entry.membership, audience),
          ...membershipOf(context, entry.membership, context.updateSecrets || needsSecrets(entry.membership, audience)),
        }
      : undefined
  const body = { ...commonOf(context, entry, changed), membership, ...(changed.has('paused') && { paused }) }
  const steps: Step[] = [{ action: 'update', id: audience.id, body }]
  return [{ kind: 'audiences', action: 'update', name, before, after, steps }]
}

const viewOf = (entry: AudienceEntry): View => ({
  ...entry,
  ...(entry.destinations !== undefined && { destinations: [...entry.destinations].sort() }),
  ...(entry.membership !== undefined && { membership: membershipView(entry.membership) }),
})

const membershipView = (membership: MembershipEntry): MembershipEntry =>
  membership.kind === 'http' && membership.headers !== undefined
    ? { ...membership, headers: sortedByName(membership.headers) }
    : membership

/** What the audience is now, in the words of the entry; secrets that are there count as those of the entry. */
function presentView(context: PlanContext, entry: AudienceEntry, audience: Audience): View {
  const wanted = entry.membership
  const headers: HeaderEntries = wanted?.kind === 'http' ? (wanted.headers ?? {}) : {}
  const present = membershipEntry(audience, (what) => {
    if (context.updateSecrets) return anotherSecret
    if (what === 'connection') return wanted?.kind === 'sql' ? wanted.connectionString : anotherSecret
    // A value that the file itself holds is not a reference, but shown as it stands there.
    return (headers[what] ?? anotherSecret) as SecretReference
  })
  return {
    ...audienceEntry(audience, context.current.destinations),
    membership: wanted?.kind === present.kind ? sameMembers({ ...present }, wanted) : present,
  }
}

const commonOf = (context: PlanContext, entry: AudienceEntry, members: Set<string>) => ({
  ...(members.has('destinations') && {
    destinationIds: entry.destinations?.map((name) => context.idOf('destinations', name)),
  }),
  ...(members.has('schedule') && { schedule: entry.schedule }),
  ...(members.has('maxBadRowShare') && { maxBadRowShare: entry.maxBadRowShare }),
  ...(members.has('maxRemovalShare') && { maxRemovalShare: entry.maxRemovalShare }),
  ...(members.has('maxPerSecond') && { maxPerSecond: entry.maxPerSecond }),
})

/** Whether the node would not keep the secrets that it has: they are of another kind or origin, or have other names. */
function needsSecrets(wanted: MembershipEntry, { membership: present }: Audience): boolean {
  if (wanted.kind === 'http' && present.kind === 'http') {
    const names = Object.keys(wanted.headers ?? {})
    const isSameOrigin = URL.canParse(wanted.url) && new URL(wanted.url).origin === new URL(present.url).origin
    const hasOtherNames = names.sort().join() !== [...present.headerNames].sort().join()
    return !isSameOrigin || (wanted.headers !== undefined && hasOtherNames)
  }
  return wanted.kind !== present.kind
}

/** Members that stay as they are where the entry does not have them: the API takes a membership whole. */
function keptMembers(wanted: MembershipEntry, { membership: present }: Audience): View {
  if (present.kind !== wanted.kind) return {}
  if (present.kind === 'http' && present.format !== undefined) return { format: present.format }
  return present.kind === 'sql' ? { statementTimeoutSeconds: present.statementTimeoutSeconds } : {}
}

function membershipOf(context: PlanContext, wanted: MembershipEntry, withSecrets: boolean) {
  switch (wanted.kind) {
    case 'push':
      return wanted
    case 'http': {
      const { headers, ...rest } = wanted
      if (headers === undefined || !withSecrets) return rest
      const values = Object.entries(headers).map(([name, value]) => [
        name,
        typeof value === 'string' ? value : context.secret(value),
      ])
      return { ...rest, headers: Object.fromEntries(values) as Record<string, string> }
    }
    case 'sql': {
      const { connectionString, ...rest } = wanted
      return { ...rest, ...(withSecrets && { connectionString: context.secret(connectionString) }) }
    }
  }
}
