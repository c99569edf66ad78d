import { IllegalStateError } from '@temporalio/common'
import type { NativeConnectionOptions } from '@temporalio/worker'
import type { Config } from '../config.ts'
import { diskFault } from '../data-folder.ts'
import type { Logger } from '../logger.ts'
import { findTemporalCli } from '../temporal/cli-binary.ts'
import { connectTemporal, externalTemporal } from '../temporal/connect.ts'
import { createConnectableTemporal, type Temporal, type ConnectableTemporal } from '../temporal/connection.ts'
import { startEmbeddedServer, type EmbeddedServer } from '../temporal/embedded-server.ts'
import type { SealedPayloads } from '../temporal/sealed-payloads.ts'
import { embeddedNamespace } from '../temporal/server-launch.ts'
import type { Tracing } from '../tracing/port.ts'

export interface OpenTemporalOptions {
  logger: Logger
  environment: NodeJS.ProcessEnv
  /** Absent: off. */
  tracing?: Tracing | undefined
  onProgress: (line: string) => void
  /** Ends the opening. */
  signal: AbortSignal
}

/** A Temporal that is there later. */
export interface OpeningTemporal {
  temporal: Temporal
  /** Connects to it, or starts the embedded one, and makes it ready for deliveries. While it is away, it is waited for.
   *  @throws StartError when the settings are at fault */
  open(): Promise<void>
  /** Ends an opening under way, and what was opened. */
  close(): Promise<void>
}

/** The Temporal that the settings name, or the embedded one.
 *  @param payloads  how what is kept there is sealed
 *  @throws StartError when the settings cannot be read */
export function prepareTemporal(
  config: Config,
  dataDir: string,
  payloads: SealedPayloads,
  options: OpenTemporalOptions,
): OpeningTemporal {
  return config.temporal.kind === 'external'
    ? prepareExternal(config, payloads, options)
    : prepareEmbedded(config, config.temporal, dataDir, payloads, options)
}

function prepareExternal(
  config: Config,
  payloads: SealedPayloads,
  { environment, tracing, signal }: OpenTemporalOptions,
): OpeningTemporal {
  const { options, namespace } = externalTemporal(environment)
  const address = options.address ?? 'localhost:7233'
  const temporal = createConnectableTemporal({ namespace, address, uiUrl: config.temporalUiUrl, payloads, tracing })
  return opening(temporal, signal, (stop) => connectTemporal(temporal, options, config.retentionMs, stop))
}

function prepareEmbedded(
  { retentionMs, temporalUiUrl }: Config,
  ports: { port: number; uiPort: number },
  dataDir: string,
  payloads: SealedPayloads,
  { logger, environment, tracing, onProgress, signal }: OpenTemporalOptions,
): OpeningTemporal {
  const temporal = createConnectableTemporal({
    namespace: embeddedNamespace,
    address: `127.0.0.1:${ports.port}`,
    uiUrl: temporalUiUrl,
    payloads,
    tracing,
  })
  let server: EmbeddedServer | undefined
  // What it says once it runs is about trouble, of which a log that is not read along must tell too.
  const tell = (text: string): void =>
    server === undefined ? onProgress(text) : logger.warn({ text }, 'temporal.embedded')
  const start = async (stop: AbortSignal): Promise<NativeConnectionOptions> => {
    const cli = await findTemporalCli({ env: environment, onProgress, signal: stop })
    server = await startEmbeddedServer({ cli, dataDir, ...ports, retentionMs, signal: stop, onProgress: tell }).catch(
      (error: unknown) => {
        throw diskFault(dataDir, error) ?? error
      },
    )
    void server.exited.then((how) => {
      if (how === 'failed') logger.fatal('temporal.gone')
    })
    temporal.address = server.address
    temporal.uiUrl ??= server.uiUrl
    return { address: server.address }
  }
  return opening(
    temporal,
    signal,
    async (stop) => connectTemporal(temporal, await start(stop), retentionMs, stop),
    async () => server?.stop(),
  )
}

function opening(
  temporal: ConnectableTemporal,
  signal: AbortSignal,
  open: (stop: AbortSignal) => Promise<void>,
  stopServer = async (): Promise<void> => {},
): OpeningTemporal {
  const closing = new AbortController()
  let opened = Promise.resolve()
  return {
    temporal,
    open: () => (opened = open(AbortSignal.any([signal, closing.signal]))),
    async close() {
      closing.abort()
      await opened.catch(() => {})
      await temporal.connected?.connection.close().catch((error: unknown) => {
        // A worker that was still being made as the node stopped holds it: both end with the process.
        if (!(error instanceof IllegalStateError)) throw error
      })
      await stopServer()
    },
  }
}
