import { describe, expect, it } from 'vitest'
import type { DeliveryTarget, OwnRetry } from '../../src/contracts/delivery.ts'
import { commonRetries, longestOf, ownRetry, retryAt } from '../../src/contracts/retry-window.ts'

const minute = 60_000
const hour = 60 * minute
const ofNode = { windowMs: 4 * hour, initialMs: 10_000, maxMs: 15 * minute }

/** @param own  of its endpoint */
const target = (destinationId: string, retryWindowMs?: number, own?: OwnRetry): DeliveryTarget => ({
  destinationId,
  endpointIds: ['ep', 'ep-other'],
  successPolicy: 'any',
  ...(retryWindowMs !== undefined && { retryWindowMs }),
  ...(own !== undefined && { retryAtEndpoints: { ep: own } }),
})

const retryPauses = { initialMs: 1_000, maxMs: minute }

describe('the retry schedule at an endpoint', () => {
  it('is that of the delivery unless it, or its destination, has one of its own', () => {
    expect(retryAt(ofNode, target('a'), 'ep')).toBe(ofNode)
    expect(retryAt(ofNode, {}, 'ep')).toBe(ofNode)
  })

  it.each([
    [1, 15 * minute],
    [4, 15 * minute],
    [24, 90 * minute],
    [72, 2 * hour],
  ])('of %i hours has a longest pause in proportion, whoever has the window', (hours, maxMs) => {
    const expected = { windowMs: hours * hour, initialMs: 10_000, maxMs }
    expect(retryAt(ofNode, target('a', hours * hour), 'ep')).toEqual(expected)
    expect(retryAt(ofNode, target('a', 8 * hour, { retryWindowMs: hours * hour }), 'ep')).toEqual(expected)
  })

  it('has the pauses of the destination, whether it has a window too or not', () => {
    expect(retryAt(ofNode, { ...target('a'), retryPauses }, 'ep')).toEqual({ ...ofNode, ...retryPauses })
    const both = { ...target('a', 72 * hour), retryPauses }
    expect(retryAt(ofNode, both, 'ep')).toEqual({ windowMs: 72 * hour, ...retryPauses })
    expect(commonRetries(ofNode, [[target('a', hour)], [both]])('a', 'ep')).toEqual({
      windowMs: 72 * hour,
      ...retryPauses,
    })
  })

  it('has what the endpoint has of its own above what the destination has, each for itself', () => {
    const ofDestination = { ...target('a', 8 * hour), retryPauses }
    const at = (own: OwnRetry, endpointId = 'ep') =>
      retryAt(ofNode, { ...ofDestination, retryAtEndpoints: { ep: own } }, endpointId)
    const quick = { initialMs: 2_000, maxMs: 10_000 }
    expect(at({ retryWindowMs: hour })).toEqual({ windowMs: hour, ...retryPauses })
    expect(at({ retryPauses: quick })).toEqual({ windowMs: 8 * hour, ...quick })
    expect(at({ retryWindowMs: 72 * hour, retryPauses: quick })).toEqual({ windowMs: 72 * hour, ...quick })
    expect(at({ retryWindowMs: hour }, 'ep-other')).toEqual({ windowMs: 8 * hour, ...retryPauses })
  })

  it('of events together has the longest of their windows', () => {
    const targets = [[target('a', 8 * hour), target('b', hour)], [target('a')], [target('b', 2 * hour)]]
    expect(commonRetries(ofNode, targets)('a', 'ep').windowMs).toBe(8 * hour)
    expect(commonRetries(ofNode, targets)('b', 'ep').windowMs).toBe(2 * hour)
    expect(commonRetries(ofNode, targets)('c', 'ep')).toBe(ofNode)
    const own = [[target('a', hour, { retryWindowMs: 3 * hour })], [target('a', 2 * hour)]]
    expect(commonRetries(ofNode, own)('a', 'ep').windowMs).toBe(3 * hour)
    expect(commonRetries(ofNode, own)('a', 'ep-other').windowMs).toBe(2 * hour)
  })

  it('of several is the one with the longest window', () => {
    const longer = { ...ofNode, windowMs: 5 * hour }
    expect(longestOf([ofNode, longer, { ...longer }], ofNode)).toBe(longer)
    expect(longestOf([], ofNode)).toBe(ofNode)
  })
})

it('goes along with an event as far as somebody set it', () => {
  const pauses = { firstSeconds: 1, maxSeconds: 60 }
  const settings = { webhooks: [{ id: 'ep' }, { id: 'ep-other', retryWindowHours: null, retryPauses: null }] }
  const usual = { retryWindowHours: null, retryPauses: null }
  expect(ownRetry({ ...usual, settings })).toEqual({})
  expect(ownRetry({ retryWindowHours: 2, retryPauses: pauses, settings })).toEqual({
    retryWindowMs: 2 * hour,
    retryPauses,
  })
  const own = { webhooks: [...settings.webhooks, { id: 'ep-own', retryWindowHours: 3, retryPauses: pauses }] }
  expect(ownRetry({ ...usual, settings: own })).toEqual({
    retryAtEndpoints: { 'ep-own': { retryWindowMs: 3 * hour, retryPauses } },
  })
})
