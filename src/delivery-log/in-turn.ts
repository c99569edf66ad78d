/** Why events without an attempt wait: the bounds that are set for their endpoints. Those that were turned away were told so. */

import type { Delivery } from '../schemas/delivery.ts'

type Row = Pick<Delivery, 'destinationIds' | 'endedAt' | 'attempts' | 'reason'>

/** @param boundsReason  why the endpoints of some destinations take no attempt now, where it is for their bounds */
export const tellTurn =
  (boundsReason: (destinationIds: readonly string[]) => string | undefined) =>
  <Shown extends Row>(row: Shown): Shown =>
    row.endedAt === null && row.attempts === 0 && row.reason === null
      ? { ...row, reason: boundsReason(row.destinationIds) ?? null }
      : row
