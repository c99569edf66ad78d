/** An alert in words, and as an operator's webhook gets it. */

import type { AlertChange } from '../contracts/alerts.ts'
import type { Alert } from '../schemas/alert.ts'

/** What is told: an alert, which of its changes, and where it can be looked at. */
export interface ToldAlert {
  alert: Pick<Alert, 'id' | 'kind' | 'subject' | 'name' | 'reason' | 'openedAt' | 'closedAt' | 'closedReason'>
  change: AlertChange
  /** Null: the channel does not know where the app is. */
  link: string | null
}

const begun: Record<Alert['kind'], string> = {
  endpoint_failing: 'An endpoint fails',
  endpoint_failing_often: 'An endpoint fails often',
  endpoint_down: 'An endpoint is down',
  destination_held: 'A destination is held',
  inbox_old: 'Events wait in the inbox',
  sync_failed: 'A sync failed',
  sync_refused: 'A sync waits to be confirmed',
  audience_resized: 'An audience changed its size',
  key_ending: 'A replaced key is about to end',
}
const over: Record<Alert['kind'], string> = {
  endpoint_failing: 'An endpoint works again',
  endpoint_failing_often: 'An endpoint fails less often',
  endpoint_down: 'An endpoint is up again',
  destination_held: 'A destination is held no longer',
  inbox_old: 'The inbox has caught up',
  sync_failed: 'Syncs complete again',
  sync_refused: 'No sync waits to be confirmed any more',
  audience_resized: 'The size of an audience is steady',
  key_ending: 'A replaced key has ended',
}

/** One line: no line break can come from outside. */
export const subjectOf = (told: ToldAlert): string =>
  `[Postrider] ${changeOf(told)}: ${told.alert.name}`.replaceAll(/[\r\n]+/g, ' ')

function changeOf({ alert: { kind, closedReason }, change }: ToldAlert): string {
  if (change === 'opened') return begun[kind]
  return closedReason === null ? over[kind] : `Over, as ${closedReason}`
}

export function textOf(told: ToldAlert): string {
  const { alert, change, link } = told
  const what =
    change === 'opened' ? [alert.reason, ...overBefore(alert)] : [...unmended(alert), `It began at ${alert.openedAt}.`]
  return [subjectOf(told), ...what, ...(link === null ? [] : [link])].join('\n')
}

/** What is told only after the alert is over, as the channel did not take it before. */
const overBefore = ({ closedAt, closedReason }: ToldAlert['alert']): string[] =>
  closedAt === null ? [] : [`It is over since ${closedAt}${closedReason === null ? '' : `, as ${closedReason}`}.`]

/** What is over, where the subject tells why instead. */
const unmended = ({ kind, closedReason }: ToldAlert['alert']): string[] =>
  closedReason === null ? [] : [`The alert was: ${begun[kind]}.`]

/** The same id in every try, and another one for each change. */
export const messageIdOf = ({ alert, change }: ToldAlert): string => `${alert.id}-${change}`

export function bodyOf({ alert, change, link }: ToldAlert): string {
  const { id, kind, subject, name, reason, openedAt, closedAt, closedReason } = alert
  return JSON.stringify({
    type: 'alert',
    id,
    change,
    kind,
    subject,
    name,
    reason,
    openedAt,
    closedAt,
    closedReason,
    link,
  })
}
