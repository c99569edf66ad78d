/** Holds a destination while every endpoint fails, and finds out by probes when one answers. */

import { randomUUID } from 'node:crypto'
import { Context } from '@temporalio/activity'
import type { HoldActivities } from '../src/contracts/holds.ts'
import type { Database } from '../src/db/database.ts'
import { beginHold, endHold } from '../src/db/destination-holds.ts'
import type { StoredDestination } from '../src/db/stored-destination.ts'
import type { AttemptResult } from '../src/delivery/admission.ts'
import { encodeBody } from '../src/delivery/body.ts'
import { gatedEndpoint, type Gate } from '../src/delivery/gate.ts'
import { attemptResult } from '../src/delivery/outcome.ts'
import { postMessage } from '../src/delivery/post-message.ts'
import { sampleMessage } from '../src/delivery/sample-message.ts'
import type { Sender } from '../src/delivery/send.ts'
import type { Mapper } from '../src/mapping/mapper.ts'

export interface HoldDependencies {
  database: Database
  findDestination: (id: string) => StoredDestination | undefined
  /** Reads what changed in the settings, on any node. */
  catchUp: () => Promise<void>
  gate: Pick<Gate, 'admit'>
  sender: Sender
  mapper: Mapper
  /** To be told that a destination was resumed. */
  onResumed: () => void
}

type Endpoint = StoredDestination['settings']['webhooks'][number]

export function createHoldActivities(dependencies: HoldDependencies): HoldActivities {
  const { database, findDestination, catchUp, onResumed } = dependencies
  return {
    hold: ({ destinationId }) => beginHold(database, destinationId),

    async probeHeld({ destinationId }) {
      await catchUp()
      const destination = findDestination(destinationId)
      if (destination === undefined || destination.held === null) return false
      const answered = await probe(dependencies, destination)
      if (answered === undefined) return true
      await endHold(database, destinationId, answered.id)
      onResumed()
      return false
    },
  }
}

/** @returns an endpoint that answers; undefined when none does, or none is to be asked now */
async function probe(dependencies: HoldDependencies, destination: StoredDestination): Promise<Endpoint | undefined> {
  // Its requests cannot be signed.
  if (destination.unreadableReason !== undefined) return undefined
  const at = new Date()
  const messageId = `probe-${randomUUID()}`
  const body = await sampleFor(dependencies.mapper, destination, messageId, at)
  for (const endpoint of destination.settings.webhooks) {
    const send = async (): Promise<AttemptResult> => {
      const outbound = { messageId, body, endpoint, secrets: destination.secrets, at }
      return attemptResult(await postMessage(dependencies.sender, outbound, Context.current().cancellationSignal))
    }
    if ((await throughGate(dependencies.gate, endpoint, send)) === 'answered') return endpoint
  }
  return undefined
}

/** Sends when the gate lets a probe through: it learns from the answer, and lets one delivery go first then. */
async function throughGate(
  gate: HoldDependencies['gate'],
  endpoint: Endpoint,
  send: () => Promise<AttemptResult>,
): Promise<AttemptResult> {
  const admission = await gate.admit(gatedEndpoint(endpoint), 'retry')
  if (admission.kind === 'later') return 'unused'
  let result: AttemptResult = 'unused'
  try {
    result = await send()
    return result
  } finally {
    admission.leave(result)
  }
}

/** What the endpoint would get of a sample event; as it is where its mapping has no use for that. */
async function sampleFor(
  mapper: Mapper,
  { id: destinationId, mappingId }: StoredDestination,
  messageId: string,
  at: Date,
): Promise<string> {
  const message = sampleMessage('track', messageId, at)
  if (mappingId === null) return encodeBody(message)
  const mapped = await mapper.map({ destinationId, mappingId }, message)
  return mapped.kind === 'mapped' ? mapped.body : encodeBody(message)
}
