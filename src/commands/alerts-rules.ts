/** `postrider alerts rules`: when there is an alert. */

import { answerOf } from '@postrider/api'
import type { Command } from 'commander'
import {
  maxAfterSeconds,
  maxBeforeEndSeconds,
  maxResizedPercent,
  maxShareMinutes,
  type AlertPreview,
  type AlertRules,
} from '../schemas/alert.ts'
import { durationWithin, secondsOf, wholeNumber } from './shared/options.ts'
import { facts, table } from './shared/output.ts'
import { openSession } from './shared/session.ts'

interface RuleOptions {
  endpointFailing?: number | false
  endpointFailedPercent?: number | false
  endpointFailedMinutes?: number
  endpointDown?: boolean
  destinationHeld?: boolean
  inboxOld?: number | false
  syncFailed?: boolean
  audienceResized?: number | false
  keyEnding?: number | false
  preview?: true
}

export function addAlertRules(command: Command): void {
  command
    .command('rules')
    .description('show when there is an alert; with options, change it')
    .option(
      '--endpoint-failing <duration>',
      'an endpoint fails for so long, such as 5m (1s to 24h)',
      durationWithin(1, maxAfterSeconds),
    )
    .option('--no-endpoint-failing', 'no alert for endpoints')
    .option(
      '--endpoint-failed-percent <percent>',
      'so many percent of its attempts fail, such as 20 (1 to 100)',
      wholeNumber(1, 100),
    )
    .option('--no-endpoint-failed-percent', 'no alert for endpoints of which a part of the attempts fails')
    .option(
      '--endpoint-failed-minutes <minutes>',
      'the newest minutes that are counted for it, 1 to 60',
      wholeNumber(1, maxShareMinutes),
    )
    .option('--endpoint-down', 'an endpoint is down: only probes are sent to it')
    .option('--no-endpoint-down', 'no alert for endpoints that are down')
    .option(
      '--inbox-old <duration>',
      'an event waits in the inbox for so long, such as 5m (1s to 24h)',
      durationWithin(1, maxAfterSeconds),
    )
    .option('--no-inbox-old', 'no alert for the inbox')
    .option('--destination-held', 'a destination is held because it fails')
    .option('--no-destination-held', 'no alert for held destinations')
    .option('--sync-failed', 'a sync of an audience failed, or was refused')
    .option('--no-sync-failed', 'no alert for syncs')
    .option(
      '--audience-resized <percent>',
      'a sync changed its size by more percent, such as 30 (1 to 1000)',
      wholeNumber(1, maxResizedPercent),
    )
    .option('--no-audience-resized', 'no alert for the size of audiences')
    .option(
      '--key-ending <duration>',
      'a replaced write key or secret ends within so long, such as 24h (at most 30d)',
      durationWithin(1, maxBeforeEndSeconds),
    )
    .option('--no-key-ending', 'no alert for keys and secrets that end')
    .option('--preview', 'show what would be open now, and change nothing')
    .action(async (options: RuleOptions, self: Command) => {
      const { api, out } = await openSession(self)
      const rules = await answerOf(api.GET('/alert-rules'))
      const change = changedRules(options)
      const wanted = { ...rules, ...change }
      if (options.preview)
        return out.result(await answerOf(api.POST('/alert-rules/preview', { body: wanted })), showPreview)
      const isChanged = Object.keys(change).length > 0
      out.result(isChanged ? await answerOf(api.PUT('/alert-rules', { body: wanted })) : rules, showRules)
    })
}

function changedRules(options: RuleOptions): Partial<AlertRules> {
  const seconds = (given: number | false | undefined) => (typeof given === 'number' ? secondsOf(given) : given)
  return definedOf({
    endpointFailingAfterSeconds: orNull(seconds(options.endpointFailing)),
    endpointFailedPercent: orNull(options.endpointFailedPercent),
    endpointFailedMinutes: options.endpointFailedMinutes,
    endpointDown: options.endpointDown,
    destinationHeld: options.destinationHeld,
    inboxOlderThanSeconds: orNull(seconds(options.inboxOld)),
    syncFailed: options.syncFailed,
    audienceResizedPercent: orNull(options.audienceResized),
    keyEndingWithinSeconds: orNull(seconds(options.keyEnding)),
  })
}

/** `--no-…` is no alert. */
const orNull = (given: number | false | undefined): number | null | undefined => (given === false ? null : given)

const definedOf = (members: { [Name in keyof AlertRules]: AlertRules[Name] | undefined }): Partial<AlertRules> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

const showRules = (rules: AlertRules): string => {
  const none = 'no alert'
  const after = (seconds: number | null): string => (seconds === null ? none : `after ${seconds} s`)
  const atOnce = (isWanted: boolean): string => (isWanted ? 'at once' : none)
  const { endpointFailedPercent, endpointFailedMinutes, audienceResizedPercent, keyEndingWithinSeconds } = rules
  return facts({
    'an endpoint fails': after(rules.endpointFailingAfterSeconds),
    'an endpoint fails often':
      endpointFailedPercent === null ? none : `${endpointFailedPercent} % of ${endpointFailedMinutes} min`,
    'an endpoint is down': atOnce(rules.endpointDown),
    'a destination is held': atOnce(rules.destinationHeld),
    'an event waits in the inbox': after(rules.inboxOlderThanSeconds),
    'a sync failed or was refused': atOnce(rules.syncFailed),
    'an audience changed its size': audienceResizedPercent === null ? none : `by more than ${audienceResizedPercent} %`,
    'a replaced key ends': keyEndingWithinSeconds === null ? none : `within ${keyEndingWithinSeconds} s`,
  })
}

const showPreview = ({ items }: AlertPreview): string =>
  table(
    ['kind', 'subject', 'reason'],
    items.map(({ kind, name, reason }) => [kind, name, reason]),
    'With these rules, no alert would be open now.',
  )
