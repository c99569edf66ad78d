import type { AlertChannel } from '../../schemas/alert.ts'
import { existing } from '../shared/lookup.ts'
import {
  anotherSecret,
  changedMembers,
  isSame,
  planDeletions,
  sameMembers,
  type Change,
  type PlanContext,
  type Step,
  type View,
} from './change.ts'
import { alertChannelEntry } from './current.ts'
import type { AlertChannelEntry } from './file.ts'

export function planAlertRules({ current, file }: PlanContext): Change[] {
  const { alertRules: after } = file
  const before = sameMembers(current.alertRules, after ?? {})
  if (after === undefined || isSame(before, after)) return []
  const steps: Step[] = [{ action: 'update', body: { ...current.alertRules, ...after } }]
  return [{ kind: 'alertRules', action: 'update', name: 'rules', before, after, steps }]
}

export function planAlertChannels(context: PlanContext): Change[] {
  const { current, file } = context
  return [
    ...(file.alertChannels ?? []).flatMap((entry) => planAlertChannel(context, entry)),
    ...planDeletions(context, 'alertChannels', current.alertChannels, ({ name, kind }) => ({ name, kind })),
  ]
}

function planAlertChannel(context: PlanContext, entry: AlertChannelEntry): Change[] {
  const { current } = context
  const { name } = entry
  const after: View = { ...entry }
  const channel = existing(current.alertChannels, name)
  const all = new Set(Object.keys(entry))
  if (channel === undefined) {
    const { appUrl } = entry
    const body = { name, settings: settingsOf(context, entry, all), ...(typeof appUrl === 'string' && { appUrl }) }
    const steps: Step[] = [{ action: 'create', body }]
    return [{ kind: 'alertChannels', action: 'create', name, before: null, after, steps }]
  }

  const before = sameMembers(presentView(context, entry, channel), after)
  const changed = changedMembers(before, after)
  if (changed.size === 0) return []
  const body = {
    settings: settingsOf(context, entry, changed.has('kind') ? all : changed),
    ...(changed.has('appUrl') && { appUrl: entry.appUrl }),
  }
  const steps: Step[] = [{ action: 'update', id: channel.id, body }]
  return [{ kind: 'alertChannels', action: 'update', name, before, after, steps }]
}

/** What the channel is now, in the words of the entry: a secret that the node has counts as the entry's. */
function presentView({ updateSecrets }: PlanContext, entry: AlertChannelEntry, channel: AlertChannel): View {
  if (channel.settings === null) return { name: channel.name, kind: channel.kind }
  const given: View = { ...entry }
  const present = alertChannelEntry(channel, () => anotherSecret)
  const shown = Object.entries(present).map(([member, value]) => [
    member,
    value === anotherSecret && !updateSecrets ? (given[member] ?? anotherSecret) : value,
  ])
  return { appUrl: null, ...(Object.fromEntries(shown) as View) }
}

/** The members that are named; the node keeps the others. */
function settingsOf({ secret }: PlanContext, entry: AlertChannelEntry, members: Set<string>) {
  switch (entry.kind) {
    case 'webhook':
      return {
        kind: entry.kind,
        ...(members.has('url') && { url: secret(entry.url) }),
        ...(members.has('sharedSecret') && { sharedSecret: entry.sharedSecret ? secret(entry.sharedSecret) : null }),
      }
    case 'slack':
      return { kind: entry.kind, ...(members.has('url') && { url: secret(entry.url) }) }
    case 'email':
      return {
        kind: entry.kind,
        ...(members.has('smtpUrl') && { smtpUrl: secret(entry.smtpUrl) }),
        ...(members.has('from') && { from: entry.from }),
        ...(members.has('to') && { to: entry.to }),
      }
  }
}
