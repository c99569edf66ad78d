/** Pulls memberships over the connection strings it is given, and prints what came of each as JSON. */

import { pullOverSql } from '../../src/audiences/pull-sql.ts'
import { createAddressGuard } from '../../src/delivery/guard-address.ts'

const guard = { ...createAddressGuard(['127.0.0.0/8', '::1/128']), connect: () => undefined }
const query = `select 'u1' as user_id, (select ssl from pg_stat_ssl where pid = pg_backend_pid()) as encrypted`

async function pull(connectionString: string): Promise<unknown> {
  const rows: unknown[] = []
  try {
    const options = { connectionString, query, statementTimeoutSeconds: 10, kind: 'audience' as const }
    for await (const group of pullOverSql(options, guard, new AbortController().signal)) rows.push(...group)
    return { rows }
  } catch (error) {
    const { name, message } = error as Error
    return { name, message }
  }
}

const outcomes: unknown[] = []
for (const connectionString of process.argv.slice(2)) outcomes.push(await pull(connectionString))
process.stdout.write(JSON.stringify(outcomes))
