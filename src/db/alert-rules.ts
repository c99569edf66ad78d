/** When there is an alert. */

import type { AlertPreview, AlertRules } from '../schemas/alert.ts'
import type { ChangeCheck } from './change-rule.ts'
import type { Database, Queryable, SqlValue } from './database.ts'
import { wrongNow } from './wrong-now.ts'

/** Columns of `alert_rules`: their types, and the members that they hold. */
const columns: readonly { name: string; type: string; member: keyof AlertRules }[] = [
  { name: 'endpoint_failing_after', type: 'integer', member: 'endpointFailingAfterSeconds' },
  { name: 'endpoint_failed_percent', type: 'integer', member: 'endpointFailedPercent' },
  { name: 'endpoint_failed_minutes', type: 'integer', member: 'endpointFailedMinutes' },
  { name: 'endpoint_down', type: 'boolean', member: 'endpointDown' },
  { name: 'destination_held', type: 'boolean', member: 'destinationHeld' },
  { name: 'inbox_older_than', type: 'integer', member: 'inboxOlderThanSeconds' },
  { name: 'sync_failed', type: 'boolean', member: 'syncFailed' },
  { name: 'audience_resized_percent', type: 'integer', member: 'audienceResizedPercent' },
  { name: 'key_ending_within', type: 'integer', member: 'keyEndingWithinSeconds' },
]

/** Most alerts that a preview shows. */
const previewed = 100

/** SQL of the rules in `valuesOf`. */
const givenRules = `(select ${columns.map(({ name, type }, index) => `$${index + 1}::${type} as ${name}`).join(', ')})`

const valuesOf = (rules: AlertRules): SqlValue[] => columns.map(({ member }) => rules[member])

export async function readAlertRules(database: Queryable): Promise<AlertRules> {
  const [row] = await database.query<AlertRules>(
    `select ${columns.map(({ name, member }) => `${name} as "${member}"`).join(', ')} from alert_rules`,
  )
  if (row === undefined) throw new Error('the table alert_rules has no row')
  return row
}

/** What was wrong by the rules before, and is not by the new ones, is over without a word: nothing works again by it.
 *  @throws what `check` throws of the rules before */
export async function replaceAlertRules(database: Database, rules: AlertRules, check?: ChangeCheck): Promise<void> {
  const changes = columns.map(({ name }, index) => `${name} = $${index + 1}`)
  await database.transaction(async (tx) => {
    await tx.query('select from alert_rules for update')
    check?.(await readAlertRules(tx))
    await tx.query(
      `with before as materialized (${wrongNow('alert_rules')}), wanted as materialized (${wrongNow(givenRules)}),
         unwanted as (
           update alerts a set closed_at = clock_timestamp(), closing_handed = true where closed_at is null
             and exists (select from before b where b.kind = a.kind and b.subject = a.subject)
             and not exists (select from wanted w where w.kind = a.kind and w.subject = a.subject)
         )
       update alert_rules set ${changes.join(', ')}`,
      valuesOf(rules),
    )
  })
}

/** What would be open now with these rules. */
export async function previewAlerts(database: Queryable, rules: AlertRules): Promise<AlertPreview> {
  const items = await database.query<AlertPreview['items'][number]>(
    `select kind, subject, name, reason, path from (${wrongNow(givenRules)}) as wrong
     order by kind, name, subject limit ${previewed}`,
    valuesOf(rules),
  )
  return { items }
}
