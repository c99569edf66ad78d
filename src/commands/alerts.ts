/** `postrider alerts`: what operators are told of, and where. */

import { answerOf } from '@postrider/api'
import { Command } from 'commander'
import { maxMuteSeconds } from '../schemas/alert.ts'
import { addAlertChannels } from './alerts-channels.ts'
import { addAlertRules } from './alerts-rules.ts'
import { listAll } from './shared/lookup.ts'
import { durationWithin, secondsOf } from './shared/options.ts'
import { table } from './shared/output.ts'
import { openSession } from './shared/session.ts'

export function alertsCommand(): Command {
  const command = new Command('alerts').description('what operators are told of, and where')

  command
    .command('list')
    .description('show alerts, newest first')
    .action(async (_options: unknown, self: Command) => {
      const { api, out } = await openSession(self)
      out.result({ items: await listAll((query) => api.GET('/alerts', { params: { query } })) }, ({ items }) =>
        table(
          ['id', 'kind', 'subject', 'since', 'over', 'muted until', 'reason'],
          items.map((one) => [
            one.id,
            one.kind,
            one.name,
            one.openedAt,
            [one.closedAt ?? 'open', ...(one.closedReason === null ? [] : [`as ${one.closedReason}`])].join(', '),
            one.mutedUntil,
            one.reason,
          ]),
          'No alerts.',
        ),
      )
    })

  command
    .command('mute')
    .description('tell nothing of the subject of an alert for a time')
    .argument('<id>', 'id of the alert')
    .argument('<duration>', 'such as 2h, at most 30d; 0s: tell again', durationWithin(0, maxMuteSeconds))
    .action(async (id: string, time: number, _options: unknown, self: Command) => {
      const { api, out } = await openSession(self)
      const body = { seconds: secondsOf(time) }
      out.result(await answerOf(api.POST('/alerts/{id}/mute', { params: { path: { id } }, body })), ({ mutedUntil }) =>
        mutedUntil === null ? 'Not muted.' : `Muted until ${mutedUntil}.`,
      )
    })

  addAlertRules(command)
  addAlertChannels(command)
  return command
}
