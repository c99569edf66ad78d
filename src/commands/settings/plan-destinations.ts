import { matchEndpoints } from '../../db/match-endpoints.ts'
import type { Destination, WebhookInput } from '../../schemas/destination.ts'
import { optionsOf } from '../../schemas/endpoint-options.ts'
import { existing } from '../shared/lookup.ts'
import { destinationEntry, secretHeader, sortedByName, webhookEntry, withoutLocal } from './current.ts'
import type { DestinationEntry, HeaderEntries } from './file.ts'
import {
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

/** Stands in a diff for a secret that is not the one of the file. */
const anotherValue = '(another value)'

export function planDestinations(context: PlanContext): Change[] {
  const { current, file } = context
  return [
    ...file.destinations.flatMap((entry) => planDestination(context, entry)),
    ...planDeletions(context, 'destinations', withoutLocal(current).destinations, (destination) =>
      destinationEntry(destination, current.sources),
    ),
  ]
}

function planDestination(context: PlanContext, entry: DestinationEntry): Change[] {
  const { current } = context
  const { name } = entry
  expectKnown(context, 'sources', entry.sources ?? [], `destination ${name}`)
  const destination = existing(current.destinations, name)
  const after = viewOf(entry)

  if (destination === undefined) {
    const ref = refOf('destinations', name)
    const all = new Set(Object.keys(entry))
    const body = { name, type: 'webhooks', ...commonOf(context, entry, all), settings: settingsOf(context, entry, all) }
    const steps: Step[] = [
      { action: 'create', ref, body },
      ...(entry.paused === true ? [{ action: 'update', id: ref, body: { paused: true } } as const] : []),
    ]
    return [{ kind: 'destinations', action: 'create', name, before: null, after, steps }]
  }

  const before = sameMembers(presentView(context, entry, destination), after)
  const changed = changedMembers(before, after)
  if (changed.size === 0) return []
  const body = {
    ...commonOf(context, entry, changed),
    ...(changed.has('paused') && { paused: entry.paused }),
    settings: settingsOf(context, entry, changed),
  }
  const steps: Step[] = [{ action: 'update', id: destination.id, body }]
  return [{ kind: 'destinations', action: 'update', name, before, after, steps }]
}

const viewOf = (entry: DestinationEntry): View => ({
  ...entry,
  ...(entry.sources !== undefined && { sources: [...entry.sources].sort() }),
  ...(entry.webhooks !== undefined && {
    webhooks: entry.webhooks.map(webhookEntry),
  }),
})

/** What the destination is now, in the words of the entry: a secret that fits stands as the entry's reference. */
function presentView(context: PlanContext, entry: DestinationEntry, destination: Destination): View {
  const { hasSharedSecret, webhooks } = destination.settings
  const matched = matchEndpoints(entry.webhooks ?? [], webhooks)
  return {
    ...destinationEntry(destination, context.current.sources),
    sharedSecret: !hasSharedSecret ? null : context.updateSecrets ? anotherValue : (entry.sharedSecret ?? anotherValue),
    webhooks: webhooks.map((webhook) => {
      const wanted = entry.webhooks?.[matched.indexOf(webhook)]?.headers ?? {}
      const shown = Object.entries(webhook.headers).map(([name, value]) => [
        name,
        presentHeader(context, wanted, name, value),
      ])
      return webhookEntry({ ...webhook, headers: Object.fromEntries(shown) as HeaderEntries })
    }),
  }
}

function presentHeader(context: PlanContext, wanted: HeaderEntries, name: string, value: string) {
  const reference = wanted[name]
  if (typeof reference === 'object') return context.secret(reference) === value ? reference : anotherValue
  return secretHeader.test(name) && reference !== value ? anotherValue : value
}

const commonOf = (context: PlanContext, entry: DestinationEntry, members: Set<string>) => ({
  ...(members.has('enabled') && { enabled: entry.enabled }),
  ...(members.has('successPolicy') && { successPolicy: entry.successPolicy }),
  ...(members.has('onFailing') && { onFailing: entry.onFailing }),
  ...(members.has('holdAfterSeconds') && { holdAfterSeconds: entry.holdAfterSeconds }),
  ...(members.has('retryWindowHours') && { retryWindowHours: entry.retryWindowHours }),
  ...(members.has('retryPauses') && { retryPauses: entry.retryPauses }),
  ...(members.has('orderPerUser') && { orderPerUser: entry.orderPerUser }),
  ...(members.has('filter') && { filter: entry.filter }),
  ...(members.has('mapping') && { mapping: entry.mapping }),
  ...(members.has('sources') && { sourceIds: entry.sources?.map((name) => context.idOf('sources', name)) }),
})

function settingsOf(context: PlanContext, entry: DestinationEntry, members: Set<string>) {
  const { sharedSecret, webhooks = [] } = entry
  return {
    ...(members.has('sharedSecret') && { sharedSecret: sharedSecret ? context.secret(sharedSecret) : null }),
    ...(members.has('webhooks') && {
      webhooks: webhooks.map((webhook): WebhookInput => {
        const { url, headers = {} } = webhook
        return { url, headers: resolved(context, headers), ...optionsOf(webhook) }
      }),
    }),
  }
}

const resolved = (context: PlanContext, headers: HeaderEntries): Record<string, string> =>
  Object.fromEntries(
    Object.entries(sortedByName(headers)).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : context.secret(value),
    ]),
  )
