/** `postrider start`: runs a node until it is told to stop. */

import { makeTelemetryFilterString, Runtime, DefaultLogger } from '@temporalio/worker'
import { startApp } from '../app.ts'
import { readConfig } from '../config.ts'
import { StartError } from '../errors.ts'
import { createLogger, type Logger } from '../logger.ts'
import { workflowFailed } from '../temporal/sdk-internals/log-texts.ts'
import { workflowCode } from '../temporal/workflow-code.ts'
import { CommandError, exitCodes, reportFailure } from './shared/failure.ts'
import type { Output } from './shared/output.ts'
import { receivedLine } from './shared/received-text.ts'
import { readyFacts, startUpText } from './start-up-text.ts'

/** How long a stop may take before the process ends all the same, in milliseconds. */
const stopLimitMs = 30_000

/** With JSON, prints one line when it is ready, and one for each delivery to the Quickstart receiver. Ends the process. */
export async function start(out: Output): Promise<void> {
  const starting = new AbortController()
  const stopRequested = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.on(signal, () => {
        starting.abort()
        resolve()
      })
  })
  try {
    const config = readConfig(process.env)
    const logger = createLogger(config.logLevel)
    installRuntime(logger, config.temporalMetricsAddress)
    const app = await startApp(config, {
      logger,
      environment: process.env,
      signal: starting.signal,
      workflowCode: workflowCode(),
      onProgress: (line) => out.note(`${line} …`),
      onReceived: (event) => out.item(event, (one) => `  ${receivedLine(one)}`),
    })
    out.item(readyFacts(app, { madeToken: config.adminToken === undefined }), startUpText)
    await stopRequested
    out.note('Stopping: attempts that run are finished …')
    setTimeout(() => process.exit(exitCodes.failed), stopLimitMs).unref()
    await app.stop()
    out.note('Stopped.')
    process.exit(exitCodes.ok)
  } catch (error) {
    if (starting.signal.aborted) process.exit(130)
    if (!(error instanceof StartError)) throw error
    process.exit(reportFailure(new CommandError('failed', error.message), out.isJson))
  }
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
    logger: new DefaultLogger('WARN', ({ level, message, meta }) => {
      // A delivery that failed for good is a fact about its receiver, and stands in the delivery log.
      if (message !== workflowFailed)
        logger[level === 'ERROR' ? 'error' : 'warn']({ ...pick(meta) }, `temporal: ${message}`)
    }),
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

const pick = (meta: Record<string, unknown> | undefined): Record<string, unknown> => {
  const { workflowId, activityType, error } = meta ?? {}
  return {
    workflowId,
    activityType,
    ...(error !== undefined && { error: error instanceof Error ? error.message : JSON.stringify(error) }),
  }
}
