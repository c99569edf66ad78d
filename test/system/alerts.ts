/** Alerts as tests of a whole node see them. */

import type { Page } from '../../src/db/page.ts'
import type { Alert, AlertChannel, AlertChannelSettings, AlertRules } from '../../src/schemas/alert.ts'
import type { TestApp } from '../support/app.ts'
import type { Receiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

export const limitMs = 120_000

type Api = Pick<TestApp, 'api'>

/** Nothing is an alert. */
export const noRules: AlertRules = {
  endpointFailingAfterSeconds: null,
  endpointFailedPercent: null,
  endpointFailedMinutes: 60,
  endpointDown: false,
  destinationHeld: false,
  inboxOlderThanSeconds: null,
  syncFailed: false,
  audienceResizedPercent: null,
  keyEndingWithinSeconds: null,
}

export const setRules = (on: Api, rules: AlertRules) => on.api('PUT', '/alert-rules', rules)

export const addChannel = (on: Api, name: string, settings: AlertChannelSettings) =>
  on.api<AlertChannel>('POST', '/alert-channels', { name, settings, appUrl: 'https://postrider.example.com' })

/** Newest first. */
export const alertsOf = async (on: Api, subject: string): Promise<Alert[]> =>
  (await on.api<Page<Alert>>('GET', '/alerts?limit=200')).body.items.filter((alert) => alert.subject === subject)

/** @param kind  any unless given */
export const untilAlert = (on: Api, subject: string, isOver: boolean, kind?: Alert['kind']): Promise<Alert> =>
  until(
    `an alert of ${subject} is ${isOver ? 'over' : 'open'}`,
    async () =>
      (await alertsOf(on, subject)).find(
        (alert) => (alert.closedAt !== null) === isOver && (kind === undefined || alert.kind === kind),
      ),
    limitMs,
  )

interface Told {
  change: string
  kind: string
  subject: string
  name: string
  link: string
  closedReason: string | null
}

export const toldTo = ({ requests }: Pick<Receiver, 'requests'>): Told[] =>
  requests.map(({ body }) => JSON.parse(body.toString()) as Told)

/** What was told of a subject. @param kind  any unless given */
export const changesOf = (receiver: Receiver, subject: string, kind?: Alert['kind']): string[] =>
  toldTo(receiver).flatMap((told) =>
    told.subject === subject && (kind === undefined || told.kind === kind) ? [told.change] : [],
  )

/** A destination whose receiver fails. */
export async function failing(on: TestApp, receiver: Receiver, name: string) {
  receiver.answer({ status: 503 })
  const source = await on.createSource()
  const destination = await on.connect([source], [`${receiver.url}/in?token=secret-token`], { name })
  await on.post('/track', source.writeKey, { userId: 'u1', event: 'E' })
  return { destination, endpointId: destination.settings.webhooks[0]?.id ?? '' }
}
