/** The account of a chaos run: what became of every message id. */

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

export async function takeAccount(load: Load, { taken }: ChaosEndpoint, installation: Installation): Promise<Account> {
  const times = (messageId: string): number => taken.get(messageId)?.length ?? 0
  const account: Account = {
    acknowledged: load.acknowledged.size,
    unacknowledged: load.unacknowledged.size,
    unacknowledgedDelivered: [...load.unacknowledged].filter((id) => times(id) > 0).length,
    deliveredOnce: 0,
    deliveredOften: {},
    repeats: [...taken.values()].reduce((sum, moments) => sum + moments.length - 1, 0),
    listed: {},
    lost: [],
  }
  for (const messageId of load.acknowledged.keys()) {
    const count = times(messageId)
    if (count === 1) account.deliveredOnce++
    else if (count > 1) account.deliveredOften[count] = (account.deliveredOften[count] ?? 0) + 1
    else {
      const status = await statusInList(installation, messageId)
      if (status === undefined) account.lost.push(messageId)
      else account.listed[status] = (account.listed[status] ?? 0) + 1
    }
  }
  return account
}

/** One that is delivered in the list and never arrived is as lost as one that is not there. */
async function statusInList({ api }: Installation, messageId: string): Promise<string | undefined> {
  const { items } = await api<{ items: Delivery[] }>(`/deliveries?messageId=${encodeURIComponent(messageId)}`)
  const status = items[0]?.status
  return status === 'delivered' ? undefined : status
}
