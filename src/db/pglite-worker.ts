/** The thread of the embedded database: PGlite behind its own socket server. */

import { parentPort, workerData } from 'node:worker_threads'
import { PGlite } from '@electric-sql/pglite'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'

export interface PgliteWorkerData {
  folder: string
  /** Path of the Unix socket to listen on. */
  socket: string
}

const { folder, socket } = workerData as PgliteWorkerData

const database = await PGlite.create(folder)
const server = new PGLiteSocketServer({ db: database, path: socket, maxConnections: 16 })
await server.start()

parentPort?.once('message', () => {
  void (async () => {
    await server.stop()
    await database.close()
    parentPort?.close()
  })()
})
parentPort?.postMessage('ready')
