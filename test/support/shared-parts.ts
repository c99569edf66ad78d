/** Several nodes on one PostgreSQL and in one namespace of Temporal. */

import { rm } from 'node:fs/promises'
import { pino } from 'pino'
import { makeDataFolder, startTestApp, type TestApp, type TestAppOptions } from './app.ts'
import { startNodeProcess, type NodeProcess } from './node-process.ts'
import { startPostgres, type PostgresServer } from './postgres.ts'
import { createNamespace } from './temporal.ts'

export interface SharedParts extends AsyncDisposable {
  namespace: string
  postgres: Pick<PostgresServer, 'halt' | 'resume'>
  databaseUrl: string
  /** Starts a node in this process, to be disposed of before the parts are. */
  start(options?: TestAppOptions): Promise<TestApp>
  /** Starts a node in a process of its own, which is stopped with the parts. */
  startProcess(environment?: Record<string, string>): Promise<NodeProcess>
}

export async function startSharedParts(): Promise<SharedParts> {
  const [postgres, namespace] = await Promise.all([startPostgres(), createNamespace()])
  const databaseUrl = await postgres.createDatabase()
  const shared = { DATABASE_URL: databaseUrl }
  const processes: NodeProcess[] = []
  const folders: string[] = []
  return {
    namespace,
    postgres,
    databaseUrl,
    start: ({ environment, ...options } = {}) =>
      startTestApp({
        logger: pino({ level: 'fatal' }),
        namespace,
        environment: { ...shared, ...environment },
        ...options,
      }),
    async startProcess(environment) {
      const dataDir = await makeDataFolder()
      folders.push(dataDir)
      const node = await startNodeProcess({ namespace, dataDir, environment: { ...shared, ...environment } })
      processes.push(node)
      return node
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(processes.map((node) => node.stop()))
      await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })))
      await postgres.stop()
    },
  }
}
