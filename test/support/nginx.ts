/** The proxy of docker-compose.yml before nodes of a test: its configuration, with other addresses. */
import { chmod, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { findFreePorts } from '../../src/ports.ts'
import { isExecutable } from './executable.ts'
import { spawnTethered } from './tethered-process.ts'
import { until } from './wait.ts'

const CONFIGURATION = resolve(import.meta.dirname, '../../deploy/nginx/nginx.conf')

export interface Proxy extends AsyncDisposable {
  url: string
}

/** The program `nginx`; undefined when this machine has none. Debian keeps it outside of a user's `PATH`. */
export function findNginx(): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  return folders.map((folder) => join(folder, 'nginx')).find(isExecutable)
}

/** Starts it on a free port of 127.0.0.1. It ends with this process at the latest.
 *  @param nodes  host:port of the two nodes behind it
 *  @throws Error when it does not answer */
export async function startNginx(nodes: readonly [string, string]): Promise<Proxy> {
  const program = findNginx()
  if (program === undefined) throw new Error('nginx was not found')
  const folder = await mkdtemp(join(tmpdir(), 'postrider-nginx-'))
  // Started by root, it works as another user.
  await chmod(folder, 0o755)
  const [port] = await findFreePorts('127.0.0.1', 1)
  const file = join(folder, 'nginx.conf')
  const text = await readFile(CONFIGURATION, 'utf8')
  await writeFile(file, adapted(text, { folder, port: port ?? 0, nodes }))
  const logFile = join(folder, 'log')
  const proxy = await spawnTethered(program, ['-c', file, '-p', folder, '-g', 'daemon off;'], {
    logFile,
    removeAfterwards: folder,
  })
  const url = `http://127.0.0.1:${String(port)}`
  await until('nginx answers', async () => {
    if (!proxy.isRunning()) throw new Error(`nginx ended: ${await readFile(logFile, 'utf8')}`)
    return fetch(`${url}/metrics`).then(
      ({ status }) => status === 404,
      () => false,
    )
  })
  return { url, [Symbol.asyncDispose]: () => proxy.stop() }
}

function adapted(
  text: string,
  { folder, port, nodes }: { folder: string; port: number; nodes: readonly [string, string] },
): string {
  const changes: [string, string][] = [
    ['/tmp/nginx', join(folder, 'nginx')],
    ['listen 8080;', `listen 127.0.0.1:${String(port)};`],
    ['postrider-1:8080', nodes[0]],
    ['postrider-2:8080', nodes[1]],
  ]
  for (const [from] of changes) if (!text.includes(from)) throw new Error(`nginx.conf has no ${from}`)
  return changes.reduce((changed, [from, to]) => changed.replaceAll(from, to), text)
}
