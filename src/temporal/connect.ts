/** Connects a node to Temporal. */

import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from '@temporalio/client'
import { loadClientConnectConfig } from '@temporalio/envconfig'
import { NativeConnection, type NativeConnectionOptions } from '@temporalio/worker'
import { StartError } from '../errors.ts'
import { unlessAborted } from '../unless-aborted.ts'
import type { ConnectedTemporal, ConnectableTemporal } from './connection.ts'
import { isSettingsFault } from './grpc-errors.ts'
import { isCredentialsRefused } from './sdk-internals/refused-credentials.ts'
import { ensureSearchAttributes } from './search-attributes.ts'

const connectPauseMs = 1_000

/** How long making the namespace ready may take before it is tried anew, in milliseconds. */
const prepareLimitMs = 60_000

/** Where Temporal is, as the standard environment and configuration file say.
 *  @throws StartError when they cannot be read */
export function externalTemporal(env: NodeJS.ProcessEnv): { options: NativeConnectionOptions; namespace: string } {
  const definedEnv = Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
  try {
    const { connectionOptions, namespace } = loadClientConnectConfig({ overrideEnvVars: definedEnv })
    return { options: connectionOptions, namespace: namespace ?? 'default' }
  } catch (error) {
    throw new StartError(`The settings of Temporal cannot be used: ${(error as Error).message}`, { cause: error })
  }
}

/** Connects `temporal`, however long Temporal is away, and makes the namespace ready for deliveries.
 *  @throws StartError when the settings are at fault, so that waiting would not help; the signal's reason */
export async function connectTemporal(
  temporal: ConnectableTemporal,
  options: NativeConnectionOptions,
  signal: AbortSignal,
): Promise<void> {
  while (temporal.connected === undefined) {
    try {
      temporal.connected = await connectOnce(options, temporal.namespace, signal)
    } catch (error) {
      signal.throwIfAborted()
      if (isFault(error)) throw error instanceof StartError ? error : cannotBeUsed(temporal.address, error)
      temporal.failure = (error as Error).message
      await sleep(connectPauseMs, undefined, { signal })
    }
  }
}

async function connectOnce(
  options: NativeConnectionOptions,
  namespace: string,
  signal: AbortSignal,
): Promise<ConnectedTemporal> {
  const connecting = NativeConnection.connect(options)
  // A stop does not wait: it takes long to find that a server accepts connections and says nothing.
  const connection = await unlessAborted(connecting, signal).catch(async (error: unknown) => {
    if (signal.aborted) void connecting.then((late) => late.close()).catch(() => {})
    throw error
  })
  try {
    const connected = { connection, client: new Client({ connection, namespace }), namespace }
    const preparing = connection.withDeadline(Date.now() + prepareLimitMs, () =>
      ensureSearchAttributes(connected, signal),
    )
    await unlessAborted(preparing, signal)
    return connected
  } catch (error) {
    await connection.close()
    throw error
  }
}

/** A server that answers something else than what is expected, or an address that is none. */
const isFault = (error: unknown): boolean =>
  isCredentialsRefused(error) || error instanceof TypeError || isSettingsFault(error)

const cannotBeUsed = (address: string, error: unknown): StartError =>
  new StartError(`Temporal at ${address} cannot be used: ${(error as Error).message}`, { cause: error })
