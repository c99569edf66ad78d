/** `postrider audit-log`: every change through the management API. */

import { Command } from 'commander'
import { listAll } from './shared/lookup.ts'
import { moment, wholeNumber } from './shared/options.ts'
import { table } from './shared/output.ts'
import { openSession } from './shared/session.ts'

/** Most entries that are shown. */
const maxListed = 10_000

interface AuditOptions {
  limit: number
  actor?: string
  subject?: string
  since?: string
  until?: string
}

export const auditLogCommand = (): Command =>
  new Command('audit-log')
    .description('show who changed what, newest first')
    .option('--actor <name>', 'name of the API token, or admin for the configured one')
    .option('--subject <subject>', 'beginning of what was changed, such as sources or sources/src_1')
    .option('--since <time>', 'began at this time or later: ISO 8601, or 2h for two hours ago', moment)
    .option('--until <time>', 'began before this time, in the same forms', moment)
    .option('--limit <number>', 'most entries to show, 1 to 10000', wholeNumber(1, maxListed), 50)
    .action(async ({ limit, actor, subject, since, until }: AuditOptions, self: Command) => {
      const { api, out } = await openSession(self)
      const filter = { actor, subject, since, until }
      const listed = await listAll(
        (page) => api.GET('/audit-log', { params: { query: { ...filter, ...page } } }),
        limit,
      )
      out.result({ items: listed }, ({ items }) =>
        table(
          ['at', 'by', 'action', 'subject', 'outcome'],
          items.map((entry) => [entry.at, entry.actor, entry.action, entry.subject, entry.outcome]),
          'Nothing was changed.',
        ),
      )
    })
