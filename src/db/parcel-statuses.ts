/** Where events of parcels stand: which statuses are open, and which are ends. */

import type { ParcelEventStatus } from '../contracts/parcels.ts'
import { deliveryStatuses } from '../schemas/delivery.ts'

/** All of them, each with a column of the table of parcels that counts it. */
export const parcelStatuses = deliveryStatuses.filter((status): status is ParcelEventStatus => status !== 'queued')

/** Statuses of events that are under way. */
export const openStatuses: readonly string[] = ['delivering', 'retrying', 'held']

/** Statuses of events that have ended. */
export const endStatuses: readonly string[] = parcelStatuses.filter((status) => !openStatuses.includes(status))

/** SQL condition that a status is an open one.
 *  @param status  SQL of the status */
export const isOpen = (status: string): string => `${status} in (${openStatuses.map((name) => `'${name}'`).join(', ')})`

/** SQL of how many events of a parcel are open, by its columns. */
export const openCount = openStatuses.join(' + ')
