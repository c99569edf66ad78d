/** The composition root: starts a node from its settings, and stops it in the right order. */

import { createCleanUps, type CleanUps } from './clean-ups.ts'
import { composeFoundation } from './composition/compose-foundation.ts'
import { composeServer } from './composition/compose-server.ts'
import { composeServices } from './composition/compose-services.ts'
import { composeWorker, noWorker } from './composition/compose-worker.ts'
import type { Config } from './config.ts'
import { listen } from './http/listen.ts'
import type { Offers } from './http/server.ts'
import type { Logger } from './logger.ts'
import { startQuickstart, type Quickstart } from './quickstart/quickstart.ts'
import type { ReceivedEvent } from './receiver/receiver.ts'
import type { Temporal } from './temporal/connection.ts'
import type { WorkerLimits } from './temporal/worker.ts'
import type { WorkflowCode } from './temporal/workflow-code.ts'
import { unlessAborted } from './unless-aborted.ts'

export interface AppOptions {
  logger: Logger
  /** Environment for the parts that read a standard of their own (Temporal's connection, proxies). */
  environment: NodeJS.ProcessEnv
  /** Takes one line at a time about what a long start is doing. */
  onProgress: (line: string) => void
  /** Takes what the Quickstart receiver gets. */
  onReceived: (event: ReceivedEvent) => void
  /** Ends a start that is under way. */
  signal: AbortSignal
  workflowCode: WorkflowCode
  /** Unless given, those that fit a worker in service. */
  workerLimits?: WorkerLimits
}

export interface App {
  /** Where the web app and the management API are. */
  url: string
  /** Where events are sent; the same unless the web app has a port of its own. */
  ingestUrl: string
  adminToken: string
  temporal: Temporal
  quickstart: Quickstart | undefined
  /** Takes no more events, lets what runs finish within a bound, and leaves nothing behind. */
  stop(): Promise<void>
}

/** Starts a node: it listens at once, and the promise resolves when it delivers.
 *  @throws StartError with one line for the operator; what was started before is stopped again */
export async function startApp(config: Config, options: AppOptions): Promise<App> {
  const cleanUps = createCleanUps(options.logger)
  try {
    return { ...(await startNode(config, options, cleanUps)), stop: () => cleanUps.run() }
  } catch (error) {
    await cleanUps.run()
    throw error
  }
}

async function startNode(config: Config, options: AppOptions, cleanUps: CleanUps): Promise<Omit<App, 'stop'>> {
  const { signal, onReceived } = options
  const foundation = await composeFoundation(config, options, cleanUps)
  const { temporal, adminToken, lateCleanUps } = foundation

  const services = composeServices(config, foundation)
  const { gate, intake, deliveries, audiences, deletions } = services
  const worker = config.roles.worker ? composeWorker(config, foundation, services, options) : noWorker
  for (const part of [gate, deliveries, audiences, deletions, worker, intake]) cleanUps.add(() => part.stop())

  const build = composeServer(config, foundation, services, () => worker.deadReason())
  const open: OpenServer = async (offers, port, setting, ingestPort) => {
    const server = await build(offers, ingestPort)
    const url = await listen(server, config.host, port, setting)
    cleanUps.add(() => server.close())
    return url
  }
  const { url, ingestUrl } = await openServers(config, open)
  // The worker is asked to stop first, and awaited at its place above: attempts that begin later would make the stop longer.
  cleanUps.add(() => void worker.stop())

  // Listening already: events are taken as soon as the settings are known, wherever Temporal is.
  await foundation.open()
  await unlessAborted(worker.start(), signal)

  const isEmbedded = config.temporal.kind === 'embedded'
  const quickstart = isEmbedded
    ? await startQuickstart({ ...foundation, port: config.quickstartPort, onReceived, signal })
    : undefined
  // Attempts that are finished while the node stops may lead to the receiver.
  lateCleanUps.add(() => quickstart?.receiver.stop())
  return { url, ingestUrl, adminToken, temporal, quickstart }
}

type OpenServer = (offers: Offers, port: number, setting: string, ingestPort?: number) => Promise<string>

/** Where a node listens: one port for all that it offers, unless the web app and the API have one of their own. */
async function openServers(
  { port, adminPort, roles }: Config,
  open: OpenServer,
): Promise<Pick<App, 'url' | 'ingestUrl'>> {
  const [inner, setting] =
    adminPort === undefined ? ([port, 'PORT'] as const) : ([adminPort, 'POSTRIDER_ADMIN_PORT'] as const)
  const ingestUrl = roles.api && adminPort !== undefined ? await open('ingest', port, 'PORT') : undefined
  const ingestPort = ingestUrl === undefined ? undefined : Number(new URL(ingestUrl).port)
  const url = await open(roles.api ? 'all' : 'metrics', inner, setting, ingestPort)
  return { url, ingestUrl: ingestUrl ?? url }
}
