// @ts-check
/** The thread of the embedded database: PGlite behind its own socket server. JavaScript, because Node starts threads
 *  from files, and a thread knows nothing of the loader that runs the TypeScript sources in tests. */

import { fsyncSync } from 'node:fs'
import { chmod, rm } from 'node:fs/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { PGlite } from '@electric-sql/pglite'
import { NodeFS } from '@electric-sql/pglite/nodefs'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'

/** @type {{ folder: string, socket: string }} */
const { folder, socket } = workerData

/** The folder, with syncs that reach the disk: the file system of PGlite takes them and does nothing. */
class SyncedFolder extends NodeFS {
  /**
   * @override
   * @type {NodeFS["init"]}
   */
  async init(...args) {
    const made = await super.init(...args)
    made.emscriptenOpts.preRun?.push((module) => {
      const { filesystems } = /** @type {{ filesystems: { NODEFS: { stream_ops: object } } }} */ (
        /** @type {unknown} */ (module.FS)
      )
      Object.assign(filesystems.NODEFS.stream_ops, {
        fsync: (/** @type {{ nfd: number }} */ { nfd }) => {
          fsyncSync(nfd)
          return 0
        },
      })
    })
    return made
  }
}

/** PGlite's own parameters but for -F, which leaves out syncs. Of the ways to sync only this one reaches the folder above.
 *  PostgreSQL's usual 128 MB of buffers would stay resident from the start on; pages beyond these come from the system's cache. Files of
 *  the log are kept to be written anew as long as they are no more than `max_wal_size`. */
const startParams = [
  ...PGlite.defaultStartParams.filter((param) => param !== '-F'),
  ...['-c', 'wal_sync_method=fsync', '-c', 'shared_buffers=16MB', '-c', 'max_wal_size=256MB'],
]

const database = await PGlite.create({ fs: new SyncedFolder(folder), startParams })
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
