/** A full Temporal server on PostgreSQL, set up by the scripts and settings that docker-compose.yml uses. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Connection } from '@temporalio/client'
import { loadClientConnectConfig } from '@temporalio/envconfig'
import { findFreePorts } from '../../src/ports.ts'
import type { PostgresServer } from './postgres.ts'
import { spawnTethered } from './tethered-process.ts'
import type { TetheredProcess } from './tethered-process.ts'

const START_LIMIT_MS = 120_000
const DEPLOY = resolve(import.meta.dirname, '../../deploy/temporal')
const NAMESPACE = 'default'

export interface TemporalCluster {
  /** Host and port of the frontend. */
  readonly address: string
  readonly namespace: string
  /** Process id of the server. */
  readonly pid: number
  /** Ends the server; its databases end with their PostgreSQL server. */
  stop(): Promise<void>
}

export interface TemporalClusterOptions {
  /** Gets the databases `temporal` and `temporal_visibility`; one cluster per PostgreSQL server. */
  postgres: PostgresServer
  /** Folder with `temporal-server` and `temporal-sql-tool`. */
  binaries: string
  /** Path of the `temporal` CLI. */
  cli: string
  /** The frontend asks who calls; everybody may call it unless given. */
  access?: ClusterAccess
}

export interface ClusterAccess {
  /** Files in PEM: what the frontend shows, and the authority of its clients' certificates. */
  tls: { cert: string; key: string; clientAuthority: string }
  /** URL of the JSON web keys that API keys, which are JSON web tokens, are signed with. */
  webKeys: string
  /** Settings of an administrator, as `TEMPORAL_…` variables. */
  administrator: Record<string, string>
}

/** Sets up the schema, starts all services of a Temporal server in one process on free ports of 127.0.0.1 and
 *  registers the namespace `default`. The server ends with this process at the latest.
 *  @throws Error when a step fails or the server is not ready within two minutes; the message has the end of its log */
export async function startTemporalCluster({
  postgres,
  binaries,
  cli,
  access,
}: TemporalClusterOptions): Promise<TemporalCluster> {
  const run = promisify(execFile)
  const folder = await mkdtemp(join(tmpdir(), 'postrider-temporal-'))
  // The scripts call the CLI by its own name.
  await symlink(cli, join(folder, 'temporal'))
  const path = [binaries, folder, process.env['PATH'] ?? ''].join(delimiter)
  await run(join(DEPLOY, 'setup-schema.sh'), {
    env: {
      PATH: path,
      SQL_HOST: postgres.host,
      SQL_PORT: String(postgres.port),
      SQL_USER: postgres.user,
      SQL_PASSWORD: postgres.password,
    },
  })
  const ports = await choosePorts()
  // JSON is YAML, and holds a password as it is.
  await writeFile(join(folder, 'test.yaml'), JSON.stringify(serverConfig(postgres, ports, access)), { mode: 0o600 })
  const logFile = join(folder, 'log')
  const server = await spawnTethered(
    join(binaries, 'temporal-server'),
    [
      ...['--root', folder, '--config', '.', '--env', 'test', '--allow-no-auth', 'start'],
      ...servicesOf(access).map((service) => `--service=${service}`),
    ],
    { logFile, removeAfterwards: folder },
  )
  const address = `127.0.0.1:${String(ports.frontend.grpc)}`
  const client = { TEMPORAL_ADDRESS: address, ...access?.administrator }
  try {
    await waitUntilServing(server, client)
    await run(join(DEPLOY, 'create-namespace.sh'), {
      // A home without the user's own Temporal settings.
      env: { PATH: path, HOME: folder, ...client, TEMPORAL_NAMESPACE: NAMESPACE, RETENTION: '72h' },
      timeout: START_LIMIT_MS,
    })
  } catch (cause) {
    const log = await readFile(logFile, 'utf8').catch(() => '')
    await server.stop()
    throw new Error(`the Temporal server did not start: ${log.slice(-3000)}`, { cause })
  }
  return { address, namespace: NAMESPACE, pid: server.pid, stop: () => server.stop() }
}

const SERVICES = ['frontend', 'history', 'matching', 'worker', 'internal-frontend'] as const
type Service = (typeof SERVICES)[number]
type Ports = Record<Service, { grpc: number; membership: number }>

/** The server's own workers have no API key: where the frontend asks for one, they call a frontend of their own. */
const servicesOf = (access: ClusterAccess | undefined): Service[] =>
  SERVICES.filter((service) => access !== undefined || service !== 'internal-frontend')

async function choosePorts(): Promise<Ports> {
  // On PostgreSQL, Temporal keeps a port as smallint: those of `findFreePorts` are below 32768.
  const free = await findFreePorts('127.0.0.1', SERVICES.length * 2)
  const next = (): number => {
    const port = free.pop()
    if (port === undefined) throw new Error('too few ports')
    return port
  }
  return {
    frontend: { grpc: next(), membership: next() },
    history: { grpc: next(), membership: next() },
    matching: { grpc: next(), membership: next() },
    worker: { grpc: next(), membership: next() },
    'internal-frontend': { grpc: next(), membership: next() },
  }
}

function serverConfig(postgres: PostgresServer, ports: Ports, access: ClusterAccess | undefined): unknown {
  const store = (databaseName: string): unknown => ({
    sql: {
      pluginName: 'postgres12',
      databaseName,
      connectAddr: `${postgres.host}:${String(postgres.port)}`,
      connectProtocol: 'tcp',
      user: postgres.user,
      password: postgres.password,
      maxConns: 20,
      maxIdleConns: 20,
      maxConnLifetime: '1h',
    },
  })
  return {
    log: { stdout: true, level: 'warn' },
    persistence: {
      numHistoryShards: 4,
      defaultStore: 'default',
      visibilityStore: 'visibility',
      datastores: { default: store('temporal'), visibility: store('temporal_visibility') },
    },
    global: {
      membership: { maxJoinDuration: '30s', broadcastAddress: '127.0.0.1' },
      ...(access && guard(access)),
    },
    services: Object.fromEntries(
      servicesOf(access).map((name) => [
        name,
        { rpc: { grpcPort: ports[name].grpc, membershipPort: ports[name].membership, bindOnIP: '127.0.0.1' } },
      ]),
    ),
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: {
          enabled: true,
          initialFailoverVersion: 1,
          rpcName: 'frontend',
          rpcAddress: `127.0.0.1:${String(ports.frontend.grpc)}`,
        },
      },
    },
    dcRedirectionPolicy: { policy: 'noop' },
    dynamicConfigClient: { filepath: join(DEPLOY, 'dynamic-config.yaml'), pollInterval: '60s' },
  }
}

const guard = ({ tls, webKeys }: ClusterAccess): Record<string, unknown> => ({
  tls: {
    frontend: {
      server: {
        certFile: tls.cert,
        keyFile: tls.key,
        requireClientAuth: true,
        clientCaFiles: [tls.clientAuthority],
      },
    },
  },
  authorization: {
    jwtKeyProvider: { keySourceURIs: [webKeys], refreshInterval: '1m' },
    permissionsClaimName: 'permissions',
    authorizer: 'default',
    claimMapper: 'default',
  },
})

async function waitUntilServing(server: TetheredProcess, client: Record<string, string>): Promise<void> {
  const { connectionOptions } = loadClientConnectConfig({ overrideEnvVars: client, disableFile: true })
  const deadline = Date.now() + START_LIMIT_MS
  for (;;) {
    try {
      const connection = await Connection.connect({ ...connectionOptions, connectTimeout: '5 seconds' })
      await connection.close()
      return
    } catch (error) {
      if (!server.isRunning() || Date.now() > deadline) throw error
    }
    await sleep(200)
  }
}
