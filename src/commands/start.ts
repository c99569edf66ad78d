/** `postrider start`: runs a node until it is told to stop. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DefaultLogger, makeTelemetryFilterString, Runtime } from '@temporalio/worker'
import { startApp } from '../app.ts'
import { readConfig, type Roles } from '../config.ts'
import { StartError } from '../errors.ts'
import { createLogger, type Logger } from '../logger.ts'
import { packageVersion } from '../package-version.ts'
import { logSdkLines } from '../temporal/sdk-log.ts'
import { workflowCode } from '../temporal/workflow-code.ts'
import { CommandError, exitCodes } from './shared/failure.ts'
import type { Output } from './shared/output.ts'
import { receivedLine } from './shared/received-text.ts'
import { createRemarks } from './shared/remarks.ts'
import { report } from './shared/report.ts'
import { readyFacts, startUpText } from './start-up-text.ts'

/** How long a stop may take before the process ends all the same, in milliseconds. */
const stopLimitMs = 30_000

/** With JSON, prints one line when it is ready, and one for each delivery to the Quickstart receiver. Ends the process.
 *  @param roles  as `POSTRIDER_ROLES` has them, and in its place; absent: those of the environment */
export async function start(out: Output, roles?: string): Promise<void> {
  const starting = new AbortController()
  const stopRequested = new Promise<void>((resolve) => {
    // A closed terminal, too: the embedded server would be left running otherwise.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => {
        starting.abort()
        resolve()
      })
  })
  try {
    const environment = { ...process.env, ...(roles !== undefined && { POSTRIDER_ROLES: roles }) }
    const config = readConfig(environment)
    const format = config.logFormat ?? (process.stderr.isTTY ? 'pretty' : 'json')
    const { logLevel: level, roles: does } = config
    const logger = await createLogger({ level, version: packageVersion(), role: roleText(does), format })
    const tell = tellProgress(out, logger, format)
    installRuntime(logger, config.temporalMetricsAddress)
    const app = await startApp(config, {
      logger,
      environment,
      signal: starting.signal,
      workflowCode: workflowCode(),
      onProgress: (text) => tell('node.opening', `${text} …`),
      onReceived: (event) => out.item(event, (one) => `  ${receivedLine(one)}`),
    })
    out.item(readyFacts(app, { madeToken: config.adminToken === undefined, ...onlyRole(config.roles) }), startUpText)
    if (does.api) await tellAddress(config.dataDir, app.url)
    logger.info({ url: app.url }, 'node.ready')
    await stopRequested
    tell('node.stopping', 'Stopping: attempts that run are finished …')
    setTimeout(() => process.exit(exitCodes.failed), stopLimitMs).unref()
    await app.stop()
    tell('node.stopped', 'Stopped.')
    process.exit(exitCodes.ok)
  } catch (error) {
    if (starting.signal.aborted) process.exit(exitCodes.interrupted)
    const told = error instanceof StartError ? new CommandError('failed', error.message) : error
    // What a start that failed left open would keep the process alive, deaf to Ctrl-C.
    process.exit(report(told, out.isJson))
  }
}

/** For commands on this machine, which look there; a node that cannot say it works all the same. */
const tellAddress = (dataDir: string, url: string): Promise<void> =>
  writeFile(join(dataDir, 'address'), `${url}\n`, { mode: 0o600 }).catch(() => {})

const onlyRole = ({ api, worker }: Roles): { role?: keyof Roles } =>
  api && worker ? {} : { role: api ? 'api' : 'worker' }

const roleText = (does: Roles): string => (['api', 'worker'] as const).filter((role) => does[role]).join(',')

/** People read remarks about what is going on; where programs read standard error, these are lines of the log. */
const tellProgress = (out: Output, logger: Logger, format: 'json' | 'pretty') => {
  const remark = createRemarks((text) => out.note(text), process.stderr)
  return (name: 'node.opening' | 'node.stopping' | 'node.stopped', text: string): void =>
    format === 'pretty' ? remark(text) : logger.info({ text }, name)
}

/** Temporal's own log goes into ours, and its signal handlers stay out: a stop drains in an order of its own.
 *  @throws StartError when the address of its figures is in use, or none of this machine */
function installRuntime(logger: Logger, metricsAddress: string | undefined): void {
  try {
    installTemporal(logger, metricsAddress)
  } catch (error) {
    if (metricsAddress === undefined) throw error
    throw new StartError(`POSTRIDER_TEMPORAL_METRICS: cannot listen on ${metricsAddress}`, { cause: error })
  }
}

function installTemporal(logger: Logger, metricsAddress: string | undefined): void {
  Runtime.install({
    shutdownSignals: [],
    logger: new DefaultLogger('WARN', logSdkLines(logger)),
    telemetryOptions: {
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }) },
      ...(metricsAddress !== undefined && {
        metrics: {
          prometheus: {
            bindAddress: metricsAddress,
            countersTotalSuffix: true,
            unitSuffix: true,
            useSecondsForDurations: true,
          },
        },
      }),
    },
  })
}
