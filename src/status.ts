/** How the node and what it stands on do, for the operator. */

import type { Config } from './config.ts'
import type { Database } from './db/database.ts'
import { inboxDepth } from './db/inbox.ts'
import { packageVersion } from './package-version.ts'
import type { MissingPart, Status } from './schemas/system.ts'
import { answerWithin } from './temporal/answer-within.ts'
import type { Temporal } from './temporal/connection.ts'
import { durationMs } from './temporal/durations.ts'
import { within } from './within.ts'

/** How long a look at Temporal or the database may take, in milliseconds. */
const lookLimitMs = 2_000

export interface StatusDependencies {
  config: Pick<Config, 'databaseUrl' | 'ingestUrl' | 'retentionMs' | 'retry'>
  database: Database
  temporal: Temporal
  /** Port of the ingest API; null where it is that of the web app. */
  ingestPort: number | null
  /** Tells which parts do not answer, and which did not at the last look. */
  availability: { look: () => Promise<MissingPart[]>; missing: () => MissingPart[] }
}

/** @returns a function that looks; a part that does not answer is reported as not healthy */
export function statusReader({
  config,
  database,
  temporal,
  ingestPort,
  availability,
}: StatusDependencies): () => Promise<Status> {
  const version = packageVersion()
  return async () => {
    // A browser with many tabs asks often, and has few connections: none waits for what is known not to answer.
    const known = availability.missing()
    const isThere = (wanted: MissingPart['part']): boolean => known.every(({ part }) => part !== wanted)
    const [missing, engine, databaseVersion] = await Promise.all([
      known.length > 0 ? known : availability.look(),
      isThere('temporal') ? lookAtTemporal(temporal).catch(() => undefined) : undefined,
      isThere('database')
        ? within(lookLimitMs, 'the database', readDatabaseVersion(database)).catch(() => undefined)
        : undefined,
    ])
    return {
      version,
      nodeVersion: process.version,
      temporal: {
        address: temporal.address,
        namespace: temporal.namespace,
        healthy: engine !== undefined,
        uiUrl: temporal.uiUrl ?? null,
        serverVersion: engine?.serverVersion ?? null,
      },
      database: {
        kind: config.databaseUrl === undefined ? 'pglite' : 'postgresql',
        healthy: databaseVersion !== undefined,
        version: databaseVersion ?? null,
      },
      missing,
      // An existing namespace has a retention of its own.
      retentionMs: engine?.retentionMs ?? config.retentionMs,
      retry: config.retry,
      inboxDepth:
        databaseVersion === undefined
          ? null
          : await within(lookLimitMs, 'the database', inboxDepth(database)).catch(() => null),
      ingestUrl: config.ingestUrl ?? null,
      ingestPort,
    }
  }
}

async function lookAtTemporal(temporal: Temporal) {
  return answerWithin(temporal, lookLimitMs, async () => {
    const { workflowService } = temporal.connection
    const [{ serverVersion }, { config }] = await Promise.all([
      workflowService.getSystemInfo({}),
      workflowService.describeNamespace({ namespace: temporal.namespace }),
    ])
    const retention = config?.workflowExecutionRetentionTtl
    return { serverVersion, retentionMs: retention ? durationMs(retention) : undefined }
  })
}

async function readDatabaseVersion(database: Database): Promise<string | undefined> {
  const [row] = await database.query<{ server_version: string }>('show server_version')
  return row?.server_version
}
