import { matchEndpoints } from '../../db/match-endpoints.ts'
import { DestinationSchema, type Destination, type WebhookInput } from '../../schemas/destination.ts'
import { optionsOf } from '../../schemas/endpoint-options.ts'
import { DoneSchema, segment } from '../shared/api.ts'
import { existing } from '../shared/lookup.ts'
import { destinationEntry, secretHeader, sortedByName, webhookEntry, withoutLocal } from './current.ts'
import type { DestinationEntry, HeaderEntries } from './file.ts'
import {
  changedMembers,
  expectKnown,
  planDeletions,
  sameMembers,
  type Change,
  type PlanContext,
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
  const { api, current, created } = context
  const { name } = entry
  expectKnown(context, 'sources', entry.sources ?? [], `destination ${name}`)
  const destination = existing(current.destinations, name)
  const after = viewOf(entry)
  const pause = (id: string) =>
    api.call('PATCH', `/destinations/${segment(id)}`, DestinationSchema, { paused: entry.paused })

  if (destination === undefined) {
    const settings = settingsOf(context, entry, new Set(Object.keys(entry)))
    const check = checkOf(context, entry, new Set(Object.keys(entry)), settings)
    const apply = async () => {
      const body = { name, type: 'webhooks', ...commonOf(context, entry, new Set(Object.keys(entry))), settings }
      const { id } = await api.call('POST', '/destinations?uniqueName=true', DestinationSchema, body)
      created('destinations', name, id)
      if (entry.paused === true) await pause(id)
    }
    return [{ kind: 'destinations', action: 'create', name, before: null, after, check, apply }]
  }

  const before = sameMembers(presentView(context, entry, destination), after)
  const changed = changedMembers(before, after)
  if (changed.size === 0) return []
  const settings = settingsOf(context, entry, changed)
  const check = checkOf(context, entry, changed, settings)
  const apply = async () => {
    const body = {
      ...commonOf(context, entry, changed),
      ...(changed.has('paused') && { paused: entry.paused }),
      settings,
    }
    await api.call('PATCH', `/destinations/${segment(destination.id)}`, DestinationSchema, body)
  }
  return [{ kind: 'destinations', action: 'update', name, before, after, check, apply }]
}

/** Sources are left out: they may not be there yet. */
const checkOf =
  (context: PlanContext, entry: DestinationEntry, members: Set<string>, settings: object) =>
  async (): Promise<void> => {
    const known = new Set([...members].filter((member) => member !== 'sources'))
    await context.api.call('POST', '/destinations/check', DoneSchema, { ...commonOf(context, entry, known), settings })
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
