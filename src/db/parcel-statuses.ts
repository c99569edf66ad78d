/** Where events of parcels stand: which statuses are open, and which are ends. */

import type { ParcelEventStatus } from '../contracts/parcels.ts'
import { startedStatuses } from '../schemas/delivery.ts'

/** All of them, each with a column of the table of parcels that counts it. */
export const parcelStatuses: readonly ParcelEventStatus[] = startedStatuses

/** Statuses of events that are under way. */
export const openStatuses = ['delivering', 'retrying', 'held'] as const satisfies readonly ParcelEventStatus[]

export type OpenStatus = (typeof openStatuses)[number]

export const isOpenStatus = (status: string): boolean => (openStatuses as readonly string[]).includes(status)

/** Statuses of events that have ended. */
export const endStatuses: readonly string[] = parcelStatuses.filter((status) => !isOpenStatus(status))

/** SQL condition that a status is an open one.
 *  @param status  SQL of the status */
export const isOpen = (status: string): string => `${status} in (${openStatuses.map((name) => `'${name}'`).join(', ')})`

/** SQL of how many events of a parcel are open, by its columns. */
export const openCount = openStatuses.join(' + ')
