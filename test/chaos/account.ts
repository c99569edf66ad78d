/** The account of a chaos run: what became of every message id. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Delivery } from '../../src/schemas/delivery.ts'
import type { ChaosEndpoint } from './endpoint.ts'
import type { Installation } from './installation.ts'
import type { Load } from './load.ts'

export interface Account {
  acknowledged: number
  unacknowledged: number
  /** Of the unacknowledged ones: how many were delivered all the same. */
  unacknowledgedDelivered: number
  deliveredOnce: number
  /** How many acknowledged ids were delivered so often (from 2). */
  deliveredOften: Record<number, number>
  /** Deliveries beyond the first of each id, acknowledged or not. */
  repeats: number
  /** Not delivered, and in the list of deliveries: how many by status. */
  listed: Record<string, number>
  /** Acknowledged, neither delivered nor in the list. */
  lost: string[]
}

/** Lists lag by less than this, in milliseconds. */
const listLagMs = 2_000

export async function takeAccount(load: Load, { taken }: ChaosEndpoint, installation: Installation): Promise<Account> {
  const times = (messageId: string): number => taken.get(messageId)?.length ?? 0
  const missing = [...load.acknowledged.keys()].filter((messageId) => times(messageId) === 0)
  const standing = new Map<string, string>()
  for (const messageId of missing) await note(standing, installation, messageId)
  const unknown = missing.filter((messageId) => !standing.has(messageId))
  // They may have moved from the inbox to Temporal, or arrived, while they were looked for.
  if (unknown.length > 0) await sleep(listLagMs)
  for (const messageId of unknown) await note(standing, installation, messageId)

  const delivered = [...load.acknowledged.keys()].map(times).filter((count) => count > 0)
  return {
    acknowledged: load.acknowledged.size,
    unacknowledged: load.unacknowledged.size,
    unacknowledgedDelivered: [...load.unacknowledged].filter((messageId) => times(messageId) > 0).length,
    deliveredOnce: delivered.filter((count) => count === 1).length,
    deliveredOften: tally(delivered.filter((count) => count > 1)),
    repeats: [...taken.values()].reduce((sum, moments) => sum + moments.length - 1, 0),
    listed: tally(missing.filter((messageId) => times(messageId) === 0).flatMap((id) => standing.get(id) ?? [])),
    lost: unknown.filter((messageId) => !standing.has(messageId) && times(messageId) === 0),
  }
}

/** One that is delivered in the list and never arrived is as lost as one that is not there. */
async function note(standing: Map<string, string>, { api }: Installation, messageId: string): Promise<void> {
  const { items } = await api<{ items: Delivery[] }>(`/deliveries?messageId=${encodeURIComponent(messageId)}`)
  const status = items[0]?.status
  if (status !== undefined && status !== 'delivered') standing.set(messageId, status)
}

function tally(values: (string | number)[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1
  return counts
}
