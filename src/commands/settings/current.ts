/** The settings of a node, as entries of a file. */

import { answerOf } from '@postrider/api'
import type { AlertChannel, AlertRules } from '../../schemas/alert.ts'
import type { Audience } from '../../schemas/audience.ts'
import type { Destination } from '../../schemas/destination.ts'
import { differingOptions } from '../../schemas/endpoint-options.ts'
import type { Source } from '../../schemas/source.ts'
import type { Api } from '../shared/api.ts'
import { CommandError } from '../shared/failure.ts'
import { existing, listAlertChannels, listAudiences, listDestinations, listSources } from '../shared/lookup.ts'
import type {
  AlertChannelEntry,
  AudienceEntry,
  DestinationEntry,
  HeaderEntries,
  MembershipEntry,
  SecretReference,
  SettingsFile,
  SourceEntry,
  WebhookEntry,
} from './file.ts'

export interface Current {
  sources: Source[]
  destinations: Destination[]
  audiences: Audience[]
  alertRules: AlertRules
  alertChannels: AlertChannel[]
}

export async function readCurrent(api: Api): Promise<Current> {
  const [sources, destinations, audiences, alertRules, alertChannels] = await Promise.all([
    listSources(api),
    listDestinations(api),
    listAudiences(api),
    answerOf(api.GET('/alert-rules')),
    listAlertChannels(api),
  ])
  return { sources, destinations, audiences, alertRules, alertChannels }
}

/** Destinations that a node or `listen` made for one machine. */
const isLocal = (name: string): boolean => name === 'Quickstart receiver' || name.startsWith('listen on ')

/** Without what is local, and so no part of a file unless asked for, nor deleted for its absence; also without the Quickstart source
 *  when nothing else takes its events. */
export function withoutLocal(current: Current): Current {
  const { sources, destinations, audiences } = current
  const isMember = (id: string): boolean => audiences.some(({ destinationIds }) => destinationIds.includes(id))
  const kept = destinations.filter(({ id, name }) => !isLocal(name) || isMember(id))
  const isTaken = (id: string): boolean => kept.some(({ sourceIds }) => sourceIds.includes(id))
  return {
    ...current,
    sources: sources.filter(({ id, name }) => name !== 'Quickstart' || isTaken(id)),
    destinations: kept,
  }
}

/** Headers whose values are not to be seen. */
export const secretHeader = /auth|token|secret|key|cookie|password|signature/i

/** Everything as a file, secrets as references to variables that are named after what they are for.
 *  @throws CommandError when several have one name, by which a file knows them */
export function exportSettings(current: Current): SettingsFile {
  for (const kind of ['sources', 'destinations', 'audiences', 'alertChannels'] as const)
    for (const { name } of current[kind]) existing<{ id: string; name: string }>(current[kind], name)
  const variable = variableNames()
  return {
    version: 1,
    sources: current.sources.map(sourceEntry),
    destinations: current.destinations.map((destination) => ({
      ...destinationEntry(destination, current.sources),
      ...(destination.settings.hasSharedSecret && { sharedSecret: { env: variable(destination.name, 'secret') } }),
      webhooks: destination.settings.webhooks.map((webhook) => {
        const headers = Object.entries(webhook.headers).map(([name, value]) => [
          name,
          secretHeader.test(name) ? { env: variable(destination.name, name) } : value,
        ])
        return webhookEntry({ ...webhook, headers: Object.fromEntries(headers) as HeaderEntries })
      }),
    })),
    audiences: current.audiences.map((audience) => ({
      ...audienceEntry(audience, current.destinations),
      membership: membershipEntry(audience, (what) => ({ env: variable(audience.name, what) })),
    })),
    alertRules: current.alertRules,
    alertChannels: current.alertChannels.map((channel) =>
      alertChannelEntry(channel, (what) => ({ env: variable(channel.name, what) })),
    ),
  }
}

export const sourceEntry = ({ name, enabled }: Source): SourceEntry => ({ name, enabled })

/** Without endpoints, and with a secret only when it is known that there is none. */
export const destinationEntry = (destination: Destination, sources: Source[]): DestinationEntry => ({
  name: destination.name,
  enabled: destination.enabled,
  // What the node holds by itself is no setting.
  paused: destination.paused && destination.held === null,
  successPolicy: destination.successPolicy,
  onFailing: destination.onFailing,
  holdAfterSeconds: destination.holdAfterSeconds,
  retryWindowHours: destination.retryWindowHours,
  retryPauses: destination.retryPauses,
  orderPerUser: destination.orderPerUser,
  sources: namesOf(destination.sourceIds, sources),
  filter: destination.filter,
  mapping: destination.mapping,
  ...(!destination.settings.hasSharedSecret && { sharedSecret: null }),
})

/** With the options in which it differs from others. */
export const webhookEntry = (webhook: WebhookEntry): WebhookEntry => ({
  url: webhook.url,
  ...differingOptions(webhook),
  ...(Object.keys(webhook.headers ?? {}).length > 0 && { headers: sortedByName(webhook.headers ?? {}) }),
})

/** Without where the members come from. */
export const audienceEntry = (audience: Audience, destinations: Destination[]): AudienceEntry => ({
  name: audience.name,
  key: audience.key,
  kind: audience.kind,
  destinations: namesOf(audience.destinationIds, destinations),
  schedule: audience.schedule,
  paused: audience.paused,
  maxBadRowShare: audience.maxBadRowShare,
  maxRemovalShare: audience.maxRemovalShare,
  maxPerSecond: audience.maxPerSecond,
})

/** @param secret  what stands for a header or the `connection`, whose value the node does not show */
export function membershipEntry({ membership }: Audience, secret: (what: string) => SecretReference): MembershipEntry {
  switch (membership.kind) {
    case 'push':
      return { kind: 'push' }
    case 'http': {
      const { url, format, headerNames } = membership
      const headers = Object.fromEntries(headerNames.map((name) => [name, secret(name)]))
      return {
        kind: 'http',
        url,
        ...(format !== undefined && { format }),
        ...(headerNames.length > 0 && { headers: sortedByName(headers) }),
      }
    }
    case 'sql': {
      const { query, statementTimeoutSeconds } = membership
      return { kind: 'sql', connectionString: secret('connection'), query, statementTimeoutSeconds }
    }
  }
}

/** @param secret  what stands for the `url` or the `secret`, which the node does not show
 *  @throws CommandError when the node cannot read its settings */
export function alertChannelEntry(
  { name, appUrl, settings }: AlertChannel,
  secret: (what: string) => SecretReference,
): AlertChannelEntry {
  const links = appUrl === null ? {} : { appUrl }
  switch (settings?.kind) {
    case undefined:
      throw new CommandError('failed', `the node has no key for the settings of the channel ${name}: set them anew`)
    case 'webhook': {
      const sharedSecret = settings.hasSharedSecret ? secret('secret') : null
      return { name, kind: 'webhook', url: secret('url'), sharedSecret, ...links }
    }
    case 'slack':
      return { name, kind: 'slack', url: secret('url'), ...links }
    case 'email':
      return { name, kind: 'email', smtpUrl: secret('url'), from: settings.from, to: settings.to, ...links }
  }
}

/** Sorted names; the id of what has a name that others have too. */
export function namesOf(ids: string[], items: { id: string; name: string }[]): string[] {
  const isUnique = (name: string): boolean => items.filter((item) => item.name === name).length === 1
  return ids
    .map((id) => {
      const name = items.find((item) => item.id === id)?.name
      return name !== undefined && isUnique(name) ? name : id
    })
    .sort()
}

export const sortedByName = <Value>(entries: Record<string, Value>): Record<string, Value> =>
  Object.fromEntries(Object.entries(entries).sort(([a], [b]) => (a < b ? -1 : 1)))

/** Gives each secret a variable of its own. */
function variableNames(): (...parts: string[]) => string {
  const taken = new Set<string>()
  return (...parts) => {
    const base = ['POSTRIDER', ...parts]
      .join('_')
      .toUpperCase()
      .replace(/[^A-Z0-9]+/g, '_')
    let name = base
    for (let n = 2; taken.has(name); n++) name = `${base}_${n}`
    taken.add(name)
    return name
  }
}
