import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import pg from 'pg'
import { beginMaking, finishMaking } from '../half-made.ts'
import { keepLooking, type Looking } from '../keep-looking.ts'
import type { Logger } from '../logger.ts'
import { fitsSocket } from '../socket-path.ts'
import type { Database } from './database.ts'
import { makePgliteFolder } from './pglite-folder.ts'
import { databaseOf } from './pooled-database.ts'
import { reclaimSpace } from './reclaim-space.ts'
import { createStatementNames } from './statement-names.ts'

/** PGlite has one session, and its socket server takes turns by protocol message, not by query: the statements of two
 *  connections would mix. */
const maxConnections = 1

/** How long a statement waits for its turn, in milliseconds. */
const turnLimitMs = 60_000

/** Time limits of statements, long ones: the embedded database is part of this process and cannot be gone, and a statement that takes
 *  long goes on whether somebody waits for it or not. */
const statementLimits = { ordinaryMs: 600_000, patientMs: 600_000 }

/** How long a plan is used, in milliseconds: one that was made while its tables had few rows is a bad one when they have many. */
const planAgeMs = 10_000

/** Name that PostgreSQL's clients expect of a socket for port 5432. */
const socketName = '.s.PGSQL.5432'

/** Opens the embedded PGlite in `folder`, made when absent. It runs on a thread of its own, because a query holds its
 *  thread until it is done, and speaks the PostgreSQL protocol over a Unix socket that only this user can reach. The socket is in
 *  the folder, where a hard kill leaves nothing that the next start does not replace. */
export async function openPglite(folder: string, logger: Logger): Promise<Database> {
  const fits = fitsSocket(join(folder, socketName))
  const socketFolder = fits ? folder : await mkdtemp(join(tmpdir(), 'postrider-'))
  if (await beginMaking(folder)) await makePgliteFolder(folder)
  const worker = await startWorker({ folder, socket: join(socketFolder, socketName) })
  await finishMaking(folder)
  worker.on('error', (error) => logger.fatal({ error: error.message }, 'database.failed'))
  const pool = new pg.Pool({
    host: socketFolder,
    port: 5432,
    user: 'postgres',
    database: 'postgres',
    max: maxConnections,
    connectionTimeoutMillis: turnLimitMs,
    // The session is that of the connection before, and has its statements still.
    onConnect: (client: pg.ClientBase): unknown => client.query('deallocate all'),
  })
  pool.on('error', (error) => logger.warn({ error: error.message }, 'database.connection_lost'))
  const stopWorker = async (): Promise<void> => {
    const stopped = new Promise((resolve) => worker.once('exit', resolve))
    worker.postMessage('close')
    await stopped
    if (!fits) await rm(socketFolder, { recursive: true, force: true })
  }
  const database = databaseOf(pool, statementLimits, { names: createStatementNames(), afterClose: stopWorker })
  const space = reclaimSpace(database, logger)
  const plans = renewPlans(database, logger)
  return {
    ...database,
    async close() {
      await Promise.all([space.stop(), plans.stop()])
      await database.close()
    },
  }
}

/** Has statements that come often planned anew now and then, with the sizes that their tables have by then. */
const renewPlans = (database: Database, logger: Logger): Pick<Looking, 'stop'> =>
  keepLooking({
    look: async () => void (await database.query('discard plans')),
    failure: 'database.plans_not_renewed',
    pauseMs: planAgeMs,
    beginsLater: true,
    logger,
  })

/** @param workerData  the folder, and the path of the socket to listen on */
function startWorker(workerData: { folder: string; socket: string }): Promise<Worker> {
  const worker = new Worker(new URL('./pglite-worker.js', import.meta.url), { workerData })
  return new Promise((resolve, reject) => {
    worker.once('error', reject)
    worker.once('message', () => {
      worker.off('error', reject)
      resolve(worker)
    })
  })
}
