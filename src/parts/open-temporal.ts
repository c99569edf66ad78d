import type { CleanUps } from '../clean-ups.ts'
import type { Config } from '../config.ts'
import type { Logger } from '../logger.ts'
import { findTemporalCli } from '../temporal/cli-binary.ts'
import { connectTemporal, externalTemporal, type Temporal } from '../temporal/connection.ts'
import { startEmbeddedServer } from '../temporal/embedded-server.ts'
import { ensureSearchAttributes } from '../temporal/search-attributes.ts'

export interface OpenTemporalOptions {
  logger: Logger
  environment: NodeJS.ProcessEnv
  onProgress: (line: string) => void
  signal: AbortSignal
}

export interface OpenedTemporal {
  temporal: Temporal
  /** UI of the embedded server. */
  uiUrl?: string
}

/** Connects to the Temporal that the settings name, or starts the embedded one, and makes it ready for deliveries.
 *  @throws StartError when there is none to be had */
export async function openTemporal(
  config: Config,
  dataDir: string,
  options: OpenTemporalOptions,
  cleanUps: CleanUps,
): Promise<OpenedTemporal> {
  const opened =
    config.temporal.kind === 'external'
      ? await openExternal(options, cleanUps)
      : await openEmbedded(config, config.temporal, dataDir, options, cleanUps)
  await ensureSearchAttributes(opened.temporal, options.signal)
  return opened
}

async function openExternal(
  { logger, environment, signal }: OpenTemporalOptions,
  cleanUps: CleanUps,
): Promise<OpenedTemporal> {
  const { connection, namespace } = externalTemporal(environment)
  const temporal = await connectTemporal(connection, namespace, logger, signal)
  cleanUps.add(() => temporal.connection.close())
  return { temporal }
}

async function openEmbedded(
  { retentionMs }: Config,
  ports: { port: number; uiPort: number },
  dataDir: string,
  { logger, environment, onProgress, signal }: OpenTemporalOptions,
  cleanUps: CleanUps,
): Promise<OpenedTemporal> {
  const cli = await findTemporalCli({ env: environment, onProgress, signal })
  const server = await startEmbeddedServer({ cli, dataDir, ...ports, retentionMs, signal, onProgress })
  cleanUps.add(() => server.stop())
  void server.exited.then((how) => {
    if (how === 'failed')
      logger.fatal('temporal.gone: the embedded server cannot be restarted; events wait in the inbox')
  })
  const temporal = await connectTemporal({ address: server.address }, 'default', logger, signal)
  cleanUps.add(() => temporal.connection.close())
  return { temporal, uiUrl: server.uiUrl }
}
