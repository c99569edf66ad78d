/** The connection to Temporal, shared by client and worker: a start can then hand its first task to the worker beside it. */

import type { Client } from '@temporalio/client'
import type { NativeConnection } from '@temporalio/worker'
import { PartAwayError } from '../errors.ts'
import { createNamesInTemporal, type NamesInTemporal } from './names-in-temporal.ts'
import { createSealedMessages, type SealedMessages } from './sealed-messages.ts'
import type { SealedPayloads } from './sealed-payloads.ts'
import type { Tracing } from '../tracing/port.ts'

/** Temporal as a node uses it: known from the start, connected as soon as it is there. What is thrown before that says that
 *  it is away, as a call would that Temporal does not answer. */
export interface Temporal {
  readonly namespace: string
  /** host:port */
  readonly address: string
  /** Where its UI is, when that is known. */
  readonly uiUrl: string | undefined
  /** How it has the names that callers give. */
  readonly names: NamesInTemporal
  /** What is kept there is sealed. */
  readonly payloads: SealedPayloads
  /** What is kept there of users is sealed with their keys, too. */
  readonly messages: SealedMessages
  /** Tells of starts and of workflows that end; absent where tracing is off. */
  readonly tracing?: Tracing | undefined
  /** @throws PartAwayError before the first connection */
  readonly connection: NativeConnection
  /** @throws PartAwayError before the first connection */
  readonly client: Client
}

/** What belongs to one connection. */
export type ConnectedTemporal = Pick<Temporal, 'namespace' | 'connection' | 'client'>

/** Where Temporal is and, once it is there, the connection to it. */
export interface ConnectableTemporal extends Temporal {
  address: string
  uiUrl: string | undefined
  /** Why the last try to connect failed. */
  failure: string | undefined
  connected: ConnectedTemporal | undefined
}

export function createConnectableTemporal(
  place: Pick<Temporal, 'namespace' | 'address' | 'uiUrl' | 'payloads' | 'tracing'>,
): ConnectableTemporal {
  const use = (): ConnectedTemporal => {
    if (temporal.connected === undefined) throw new PartAwayError('temporal', temporal.failure)
    return temporal.connected
  }
  const temporal: ConnectableTemporal = {
    ...place,
    names: createNamesInTemporal(),
    messages: createSealedMessages(),
    failure: undefined,
    connected: undefined,
    get connection() {
      return use().connection
    },
    get client() {
      return use().client
    },
  }
  return temporal
}
