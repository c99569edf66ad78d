/** The connection to Temporal, shared by client and worker: a start can then hand its first task to the worker beside it. */

import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from '@temporalio/client'
import { loadClientConnectConfig } from '@temporalio/envconfig'
import { NativeConnection, type NativeConnectionOptions } from '@temporalio/worker'
import { StartError } from '../errors.ts'
import type { Logger } from '../logger.ts'

/** How long a start waits for a Temporal that does not answer yet, in milliseconds. */
const connectLimitMs = 60_000
const connectPauseMs = 1_000

export interface Temporal {
  connection: NativeConnection
  client: Client
  namespace: string
  address: string
}

/** Where Temporal is, as the standard environment and configuration file say. */
export function externalTemporal(env: NodeJS.ProcessEnv): { connection: NativeConnectionOptions; namespace: string } {
  const definedEnv = Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
  const { connectionOptions, namespace } = loadClientConnectConfig({ overrideEnvVars: definedEnv })
  return { connection: connectionOptions, namespace: namespace ?? 'default' }
}

/** @throws StartError when Temporal does not answer within a minute; an AbortError when `signal` aborts before */
export async function connectTemporal(
  options: NativeConnectionOptions,
  namespace: string,
  logger: Logger,
  signal: AbortSignal,
): Promise<Temporal> {
  const address = options.address ?? 'localhost:7233'
  const deadline = Date.now() + connectLimitMs
  for (;;) {
    try {
      const connection = await connect(options, signal)
      return { connection, client: new Client({ connection, namespace }), namespace, address }
    } catch (error) {
      signal.throwIfAborted()
      if (Date.now() > deadline)
        throw new StartError(`Temporal at ${address} does not answer: ${(error as Error).message}`, { cause: error })
      logger.warn({ address, error: (error as Error).message }, 'temporal.waiting')
      await sleep(connectPauseMs, undefined, { signal })
    }
  }
}

/** One attempt. A stop does not wait for it: it takes long to find that a server accepts connections and says nothing. */
function connect(options: NativeConnectionOptions, signal: AbortSignal): Promise<NativeConnection> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const stop = () => reject(signal.reason as Error)
    signal.addEventListener('abort', stop, { once: true })
    void NativeConnection.connect(options)
      .then((connection) => (signal.aborted ? connection.close() : resolve(connection)))
      .catch(reject)
      .finally(() => signal.removeEventListener('abort', stop))
  })
}
