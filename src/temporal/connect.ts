/** Connects a node to Temporal. */

import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from '@temporalio/client'
import { loadClientConfigProfile, toClientOptions, type ClientConfigTLS } from '@temporalio/envconfig'
import { NativeConnection, type NativeConnectionOptions } from '@temporalio/worker'
import { StartError } from '../errors.ts'
import { withSecretFiles } from '../secret-files.ts'
import { unlessAborted } from '../unless-aborted.ts'
import type { ConnectedTemporal, ConnectableTemporal } from './connection.ts'
import { dataConverter } from './data-converter.ts'
import { isSettingsFault, refusalText } from './grpc-errors.ts'
import { isCredentialsRefused } from './sdk-internals/refused-credentials.ts'
import { prepareNamespace } from './prepare-namespace.ts'
import { traceStarts } from './trace-starts.ts'

const connectPauseMs = 1_000

/** How long making the namespace ready may take before it is tried anew, in milliseconds. */
const prepareLimitMs = 60_000

/** Where Temporal is, as the standard environment and configuration file say.
 *  @throws StartError when they cannot be read */
export function externalTemporal(env: NodeJS.ProcessEnv): { options: NativeConnectionOptions; namespace: string } {
  const definedEnv = Object.fromEntries(
    Object.entries(withSecretFiles(env, ['TEMPORAL_API_KEY'])).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    ),
  )
  try {
    const profile = loadClientConfigProfile({ overrideEnvVars: definedEnv })
    checkPair(profile.tls)
    const { connectionOptions, namespace } = toClientOptions(profile)
    return { options: connectionOptions, namespace: namespace ?? 'default' }
  } catch (error) {
    throw new StartError(`The settings of Temporal cannot be used: ${(error as Error).message}`, { cause: error })
  }
}

/** One without the other would be left out without a word, and the connection refused for want of a certificate.
 *  @throws Error that names what is missing */
function checkPair({ clientCert, clientKey }: ClientConfigTLS = {}): void {
  if (clientCert !== undefined && clientKey === undefined)
    throw new Error("the client's certificate is given without its private key (TEMPORAL_TLS_CLIENT_KEY_PATH)")
  if (clientKey !== undefined && clientCert === undefined)
    throw new Error("the client's private key is given without its certificate (TEMPORAL_TLS_CLIENT_CERT_PATH)")
}

/** Connects `temporal`, however long Temporal is away, and makes the namespace ready for deliveries.
 *  @param retentionMs  of the namespace where it is made here, in milliseconds
 *  @throws StartError when the settings are at fault, so that waiting would not help; the signal's reason */
export async function connectTemporal(
  temporal: ConnectableTemporal,
  options: NativeConnectionOptions,
  retentionMs: number,
  signal: AbortSignal,
): Promise<void> {
  while (temporal.connected === undefined) {
    try {
      temporal.connected = await connectOnce(options, temporal, retentionMs, signal)
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
  { namespace, payloads, tracing }: ConnectableTemporal,
  retentionMs: number,
  signal: AbortSignal,
): Promise<ConnectedTemporal> {
  const connecting = NativeConnection.connect(options)
  // A stop does not wait: it takes long to find that a server accepts connections and says nothing.
  const connection = await unlessAborted(connecting, signal).catch(async (error: unknown) => {
    if (signal.aborted) void connecting.then((late) => late.close()).catch(() => {})
    throw error
  })
  try {
    const interceptors = tracing && { workflow: [traceStarts(tracing)] }
    const client = new Client({
      connection,
      namespace,
      dataConverter: dataConverter(payloads),
      ...(interceptors && { interceptors }),
    })
    const connected = { connection, client, namespace }
    const preparing = connection.withDeadline(Date.now() + prepareLimitMs, () =>
      prepareNamespace(connected, retentionMs, signal),
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
  new StartError(`Temporal at ${address} cannot be used: ${refusalText(error as Error)}`, { cause: error })
