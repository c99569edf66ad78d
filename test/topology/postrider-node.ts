/** A Postrider node as an operator runs it: a process of its own, told everything by its environment. */
import { mkdtemp, readFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findFreePorts } from '../../src/ports.ts'
import { commandInTest } from '../support/built-command.ts'
import { isComplete } from '../support/readiness.ts'
import { spawnTethered } from '../support/tethered-process.ts'
import type { TetheredProcess } from '../support/tethered-process.ts'

const READY_LIMIT_MS = 120_000

export interface PostriderNode extends TetheredProcess {
  readonly url: string
  /** What its worker calls itself in a workflow's history. */
  readonly identity: string
  /** Calls the management API; the answer's JSON.
   *  @throws Error for a status of 400 or more */
  manage<T>(method: string, path: string, body?: unknown): Promise<T>
  /** Sends one call to the ingest API; its status. */
  track(writeKey: string, message: Record<string, unknown>): Promise<number>
  /** Waits until `/readyz` answers that nothing is missing.
   *  @throws Error with the node's log when it ends or is not ready within two minutes */
  ready(): Promise<void>
}

/** Starts `postrider start` with these settings on a free port unless they name one, and a data folder of its own.
 *  @param program  what Node is given to run the command; the build's unless given
 *  @param options  of `start` */
export async function startNode(
  settings: Record<string, string>,
  adminToken: string,
  program: readonly string[] = commandInTest,
  options: readonly string[] = [],
): Promise<PostriderNode> {
  const folder = await mkdtemp(join(tmpdir(), 'postrider-node-'))
  const logFile = join(folder, 'log')
  const [freePort] = await findFreePorts('127.0.0.1', 1)
  const port = settings['PORT'] ?? freePort
  const url = `http://127.0.0.1:${String(port)}`
  const node = await spawnTethered(process.execPath, [...program, 'start', ...options], {
    logFile,
    removeAfterwards: folder,
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      PORT: String(port),
      POSTRIDER_DATA_DIR: join(folder, 'data'),
      POSTRIDER_ADMIN_TOKEN: adminToken,
      ...settings,
    },
  })
  const post = (path: string, authorization: string, body: unknown, method = 'POST'): Promise<Response> =>
    fetch(url + path, {
      method,
      headers: { authorization, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(20_000),
    })
  return {
    ...node,
    url,
    identity: `${String(node.pid)}@${hostname()}`,
    async manage<T>(method: string, path: string, body?: unknown) {
      const response = await post(`/api/v1${path}`, `Bearer ${adminToken}`, body, method)
      if (!response.ok) throw new Error(`${method} ${path}: ${String(response.status)} ${await response.text()}`)
      return (await response.json()) as T
    },
    async track(writeKey, message) {
      const response = await post('/v1/track', `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`, message)
      await response.arrayBuffer()
      return response.status
    },
    async ready() {
      const deadline = Date.now() + READY_LIMIT_MS
      for (;;) {
        if (await isComplete(url)) return
        if (!node.isRunning() || Date.now() > deadline)
          throw new Error(`the node is not ready: ${await readFile(logFile, 'utf8')}`)
        await sleep(50)
      }
    },
  }
}
