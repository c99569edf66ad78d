// @ts-check
/** The thread of the embedded database: PGlite behind its own socket server. JavaScript, because Node starts threads
 *  from files, and a thread knows nothing of the loader that runs the TypeScript sources in tests. */

import { chmod, rm } from 'node:fs/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { PGlite } from '@electric-sql/pglite'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'

/** @type {{ folder: string, socket: string }} */
const { folder, socket } = workerData

const database = await PGlite.create(folder)
// A hard kill leaves it, and then nothing can be bound to it.
await rm(socket, { force: true })
const server = new PGLiteSocketServer({ db: database, path: socket, maxConnections: 16 })
await server.start()
await chmod(socket, 0o600)

parentPort?.once('message', async () => {
  await server.stop()
  await database.close()
  parentPort?.close()
})
parentPort?.postMessage('ready')
