/** The namespace that deliveries run in: made, with its search attributes, where Temporal lets the node do it; otherwise the operator is
 *  told what to run, or which permission is missing. */

import { setTimeout as sleep } from 'node:timers/promises'
import { minRetentionMs } from '../config.ts'
import { StartError } from '../errors.ts'
import type { ConnectedTemporal } from './connection.ts'
import { toDuration } from './durations.ts'
import { isNotFound, isPermissionDenied, isSettingsFault, refusalText } from './grpc-errors.ts'
import { ensureSearchAttributes } from './search-attributes.ts'

/** How long all parts of a Temporal take to know a new namespace, in milliseconds, at most. */
const knownLimitMs = 30_000
const knownPauseMs = 100

/** Makes what is missing and waits until it can be used. Several nodes may do it at once.
 *  @param retentionMs  of a namespace that is made here, in milliseconds
 *  @throws StartError with the commands to run where Temporal does not let this node do it, and where it lets the node only read; the
 *  signal's reason */
export async function prepareNamespace(
  temporal: ConnectedTemporal,
  retentionMs: number,
  signal: AbortSignal,
): Promise<void> {
  await temporal.connection.withAbortSignal(signal, () => ensureNamespace(temporal, retentionMs, signal))
  await ensureSearchAttributes(temporal, signal)
  await temporal.connection.withAbortSignal(signal, () => ensureMayWrite(temporal))
}

async function ensureNamespace(temporal: ConnectedTemporal, retentionMs: number, signal: AbortSignal): Promise<void> {
  const found = await isThere(temporal)
  if (found === 'not told') return
  if (!found) await registerNamespace(temporal, Math.max(retentionMs, minRetentionMs))
  // One that is there may have been made by another node just now.
  const deadline = Date.now() + knownLimitMs
  while (!(await isKnown(temporal))) {
    if (Date.now() > deadline) throw new Error(`Temporal does not know the new namespace "${temporal.namespace}" yet`)
    await sleep(knownPauseMs, undefined, { signal })
  }
}

/** Who may not ask may use it all the same: its use will tell. */
async function isThere({ connection, namespace }: ConnectedTemporal): Promise<boolean | 'not told'> {
  try {
    await connection.workflowService.describeNamespace({ namespace })
    return true
  } catch (error) {
    if (isPermissionDenied(error)) return 'not told'
    if (isNotFound(error)) return false
    throw error
  }
}

async function registerNamespace({ connection, namespace }: ConnectedTemporal, retentionMs: number): Promise<void> {
  const workflowExecutionRetentionPeriod = toDuration(retentionMs)
  try {
    await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod })
  } catch (error) {
    if (/already (exists|registered)/i.test((error as Error).message)) return
    if (!isSettingsFault(error)) throw error
    throw new StartError(
      `Temporal has no namespace "${namespace}" and does not let Postrider make it (${refusalText(error as Error)}); run: ` +
        `temporal operator namespace create --namespace '${namespace}' --retention ${Math.ceil(retentionMs / 1_000)}s`,
      { cause: error },
    )
  }
}

/** Of no workflow. */
const noId = 'none'

/** Who may only read would seem ready, and be refused with the first event. */
async function ensureMayWrite({ client, namespace }: ConnectedTemporal): Promise<void> {
  try {
    await client.workflow.getHandle(noId).cancel()
  } catch (error) {
    if (isNotFound(error)) return
    if (!isPermissionDenied(error)) throw error
    throw new StartError(
      `Temporal lets Postrider only read the namespace "${namespace}" (${refusalText(error as Error)}); ` +
        'give its API key or certificate the permission to write there',
      { cause: error },
    )
  }
}

/** Counts nothing, however much there is. */
const ofNone = `WorkflowId = '${noId}'`

/** The part that answers for visibility learns of a namespace last. */
async function isKnown({ client }: ConnectedTemporal): Promise<boolean> {
  return client.workflow.count(ofNone).then(
    () => true,
    (error: unknown) => {
      if (isNotFound(error)) return false
      throw error
    },
  )
}
