/** A PostgreSQL server of the tests' own, made from the binaries of this machine. */
import { execFile, execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdirSync, realpathSync } from 'node:fs'
import { chmod, chown, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { findFreePorts } from '../../src/ports.ts'
import { isExecutable } from './executable.ts'
import type { ServerCertificate } from './certificates.ts'
import { spawnTethered } from './tethered-process.ts'
import type { TetheredProcess } from './tethered-process.ts'

const START_LIMIT_MS = 60_000
/** Another process may take the port between finding and using it. */
const START_TRIES = 3

/** Durability is off: what a test kills is Postrider, and the data ends with the test. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
}

export interface PostgresOptions {
  /** Offers TLS with it; without one the server speaks plain text alone. */
  certificate?: ServerCertificate
  /** Begins with what `unpack` writes into its empty data folder, as a restored server does, in place of nothing. */
  backup?: { unpack: (folder: string) => Promise<void>; password: string }
}

export interface PostgresServer {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  /** Process id of the postmaster, as long as it is not halted. */
  readonly pid: number
  /** Makes an empty database and tells its connection URL. */
  createDatabase(): Promise<string>
  /** Stops all of its processes where they are; it hangs until it is thawed. */
  freeze(): void
  thaw(): void
  /** Ends the server and its connections, and keeps its data. */
  halt(): Promise<void>
  /** Starts a halted server again, on the same port. */
  resume(): Promise<void>
  /** Ends the server and removes its data. */
  stop(): Promise<void>
}

/** The folder with `initdb` and `postgres`: from `PATH`, else the newest of the places where Debian, Red Hat and
 *  Homebrew put them, which is not on `PATH`. Undefined when this machine has none. */
export function findPostgres(): string | undefined {
  const fromPath = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  const versioned = [
    ...subfolders('/usr/lib/postgresql', ''),
    ...subfolders('/usr', 'pgsql-'),
    ...subfolders('/opt/homebrew/opt', 'postgresql'),
    ...subfolders('/usr/local/opt', 'postgresql'),
  ].map((folder) => join(folder, 'bin'))
  const found = [...fromPath, ...versioned].find((folder) =>
    ['initdb', 'postgres'].every((name) => isExecutable(join(folder, name))),
  )
  // PATH may hold links only, and PostgreSQL looks for its own files beside the binary.
  return found === undefined ? undefined : dirname(realpathSync(join(found, 'postgres')))
}

/** Starts a server on a free port of 127.0.0.1, empty and with a random password unless it begins with a backup. It ends with this process at the latest.
 *  @throws Error when PostgreSQL is not found or does not start; the message has the end of its log */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const binaries = findPostgres()
  if (binaries === undefined) throw new Error('PostgreSQL binaries were not found')
  for (let tries = 1; ; tries++) {
    try {
      return await startOnce(binaries, options)
    } catch (error) {
      if (tries === START_TRIES) throw error
    }
  }
}

async function startOnce(binaries: string, { certificate, backup }: PostgresOptions): Promise<PostgresServer> {
  const owner = process.getuid?.() === 0 ? unprivilegedUser() : undefined
  const folder = await mkdtemp(join(tmpdir(), 'postrider-postgres-'))
  const data = join(folder, 'data')
  const passwordFile = join(folder, 'password')
  const logFile = join(folder, 'log')
  const user = 'postgres'
  const password = backup?.password ?? randomBytes(16).toString('hex')
  const files = new Map([
    [passwordFile, password],
    ...Object.entries<string>({ ...certificate }).map(([name, pem]): [string, string] => [join(folder, name), pem]),
  ])
  for (const [file, content] of files) await writeFile(file, content, { mode: 0o600 })
  if (owner) for (const file of [folder, ...files.keys()]) await chown(file, owner.uid, owner.gid)
  await chmod(folder, 0o700)
  if (backup === undefined) {
    const manner = ['-A', 'scram-sha-256', '-E', 'UTF8', '--locale=C', '--no-sync']
    const args = ['-D', data, '-U', user, `--pwfile=${passwordFile}`, ...manner]
    await promisify(execFile)(join(binaries, 'initdb'), args, { cwd: folder, ...owner })
  } else {
    await mkdir(data, { mode: 0o700 })
    if (owner) await chown(data, owner.uid, owner.gid)
    await backup.unpack(data)
  }
  const [port] = await findFreePorts('127.0.0.1', 1)
  if (port === undefined) throw new Error('no free port')
  const tls = certificate && { ssl: 'on', ssl_cert_file: join(folder, 'cert'), ssl_key_file: join(folder, 'key') }
  const settings = Object.entries({ ...SETTINGS, ...tls, port: String(port) }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ])
  const launch = (): Promise<TetheredProcess> =>
    spawnTethered(join(binaries, 'postgres'), ['-D', data, ...settings], {
      logFile,
      stopSignal: 'QUIT',
      removeAfterwards: folder,
      ...(owner && { owner }),
    })
  let server = await launch()
  /** Their tethers remove the data when they are cut. */
  const halted: TetheredProcess[] = []
  const urlOf = (database: string): string => `postgres://${user}:${password}@127.0.0.1:${String(port)}/${database}`
  try {
    await waitUntilReady(server, urlOf('postgres'))
  } catch (cause) {
    const log = await readFile(logFile, 'utf8').catch(() => '')
    await server.stop()
    throw new Error(`PostgreSQL did not start: ${log.slice(-2000)}`, { cause })
  }
  return {
    host: '127.0.0.1',
    port,
    user,
    password,
    get pid() {
      return server.pid
    },
    createDatabase: async () => {
      const name = `test_${randomBytes(6).toString('hex')}`
      await query(urlOf('postgres'), `create database ${name}`)
      return urlOf(name)
    },
    freeze: () => signalAll(server.pid, 'SIGSTOP'),
    thaw: () => signalAll(server.pid, 'SIGCONT'),
    async halt() {
      process.kill(server.pid, 'SIGINT')
      await server.exited
    },
    async resume() {
      halted.push(server)
      server = await launch()
      await waitUntilReady(server, urlOf('postgres'))
    },
    async stop() {
      // A frozen process would not see that it is told to end.
      if (server.isRunning()) signalAll(server.pid, 'SIGCONT')
      await Promise.all([...halted, server].map((one) => one.stop()))
    },
  }
}

/** The postmaster first, so that it makes no more processes meanwhile. Each of them has a session of its own, so that no
 *  process group holds them all. */
function signalAll(postmaster: number, signal: 'SIGSTOP' | 'SIGCONT'): void {
  process.kill(postmaster, signal)
  for (const pid of childrenOf(postmaster)) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      // It ended since it was listed.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

const childrenOf = (parent: number): number[] =>
  execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([pid, ppid]) => (pid !== undefined && ppid === parent ? [pid] : []))

async function waitUntilReady(server: TetheredProcess, url: string): Promise<void> {
  const deadline = Date.now() + START_LIMIT_MS
  for (;;) {
    try {
      await query(url, 'select 1')
      return
    } catch (error) {
      if (!server.isRunning() || Date.now() > deadline) throw error
    }
    await sleep(50)
  }
}

async function query(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url })
  // A server that ends while the client is connected reports it here too.
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query(sql)
  } finally {
    await client.end()
  }
}

/** PostgreSQL refuses to run as root. */
function unprivilegedUser(): { uid: number; gid: number } {
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (flag: string): number =>
        Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
      return { uid: id('-u'), gid: id('-g') }
    } catch {
      // This machine has no such user.
    }
  }
  throw new Error('PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody')
}

function subfolders(parent: string, prefix: string): string[] {
  try {
    return readdirSync(parent)
      .filter((name) => name.startsWith(prefix))
      .sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
      .map((name) => join(parent, name))
  } catch {
    return []
  }
}
