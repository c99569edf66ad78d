/** What a node and its Temporal server take of the machine at one moment, from Linux's `/proc` and the data folder. */

import { readdir, readlink, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pssMb } from '../support/memory.ts'

/** One moment of a soak. */
export interface Sample extends DatabaseSizes {
  /** From the beginning of the even load, in seconds. */
  seconds: number
  /** Events that were delivered so far. */
  delivered: number
  nodeMb: number
  serverMb: number
  /** Open sockets, and other open files, of both processes. */
  sockets: number
  files: number
}

/** On the disk: Postrider's database without its write-ahead log, that log, and the database of the embedded Temporal, in MB. */
export interface DatabaseSizes {
  databaseMb: number
  walMb: number
  temporalMb: number
}

/** Whom to look at. */
export interface Soaked {
  /** Process ids; the server is a child of the node. */
  node: number
  server: number
  dataDir: string
}

export async function takeSample(
  { node, server, dataDir }: Soaked,
  { seconds, delivered }: Pick<Sample, 'seconds' | 'delivered'>,
): Promise<Sample> {
  const [both, serverMb, handles, sizes] = await Promise.all([
    pssMb([node]),
    pssMb([server]),
    Promise.all([node, server].map(openHandles)),
    databaseSizes(dataDir),
  ])
  const names = handles.flat()
  const sockets = names.filter((name) => name.startsWith('socket:')).length
  return {
    seconds,
    delivered,
    nodeMb: both - serverMb,
    serverMb,
    sockets,
    files: names.length - sockets,
    ...sizes,
  }
}

export async function databaseSizes(dataDir: string): Promise<DatabaseSizes> {
  const database = join(dataDir, 'pglite')
  const folders = [dataDir, database, join(database, 'pg_wal')]
  const [all = 0, pgliteMb = 0, walMb = 0] = await Promise.all(folders.map(sizeMb))
  return { databaseMb: pgliteMb - walMb, walMb, temporalMb: all - pgliteMb }
}

/** What each handle leads to; one that is closed meanwhile is left out. */
async function openHandles(pid: number): Promise<string[]> {
  const folder = `/proc/${pid}/fd`
  const names = await Promise.all((await readdir(folder)).map((fd) => readlink(join(folder, fd)).catch(() => '')))
  return names.filter((name) => name !== '')
}

/** Of all files below a folder; those that go meanwhile are left out. */
async function sizeMb(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const sizes = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async (entry) => (await stat(join(entry.parentPath, entry.name)).catch(() => undefined))?.size ?? 0),
  )
  return sizes.reduce((sum, size) => sum + size, 0) / 1_048_576
}
