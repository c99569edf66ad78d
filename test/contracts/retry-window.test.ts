import { describe, expect, it } from 'vitest'
import type { DeliveryTarget } from '../../src/contracts/delivery.ts'
import { commonRetryAt, retryAt } from '../../src/contracts/retry-window.ts'

const minute = 60_000
const hour = 60 * minute
const ofNode = { windowMs: 4 * hour, initialMs: 10_000, maxMs: 15 * minute }

const target = (destinationId: string, retryWindowMs?: number): DeliveryTarget => ({
  destinationId,
  endpointIds: [],
  successPolicy: 'any',
  ...(retryWindowMs !== undefined && { retryWindowMs }),
})

describe('the retry schedule at a destination', () => {
  it('is that of the delivery unless it has a window of its own', () => {
    expect(retryAt(ofNode, target('a'))).toBe(ofNode)
    expect(retryAt(ofNode)).toBe(ofNode)
  })

  it.each([
    [1, 15 * minute],
    [4, 15 * minute],
    [24, 90 * minute],
    [72, 2 * hour],
  ])('of %i hours has a longest pause in proportion', (hours, maxMs) => {
    expect(retryAt(ofNode, target('a', hours * hour))).toEqual({ windowMs: hours * hour, initialMs: 10_000, maxMs })
  })

  it('has the pauses of the destination, whether it has a window too or not', () => {
    const retryPauses = { initialMs: 1_000, maxMs: minute }
    expect(retryAt(ofNode, { ...target('a'), retryPauses })).toEqual({ ...ofNode, ...retryPauses })
    const both = { ...target('a', 72 * hour), retryPauses }
    expect(retryAt(ofNode, both)).toEqual({ windowMs: 72 * hour, ...retryPauses })
    expect(commonRetryAt(ofNode, [[target('a', hour)], [both]], 'a')).toEqual({ windowMs: 72 * hour, ...retryPauses })
  })

  it('of events together has the longest of their windows', () => {
    const targets = [[target('a', 8 * hour), target('b', hour)], [target('a')], [target('b', 2 * hour)]]
    expect(commonRetryAt(ofNode, targets, 'a').windowMs).toBe(8 * hour)
    expect(commonRetryAt(ofNode, targets, 'b').windowMs).toBe(2 * hour)
    expect(commonRetryAt(ofNode, targets, 'c')).toBe(ofNode)
  })
})
