/** What follows the outcome of an attempt, for the events of a parcel. */

import { describe, expect, it } from 'vitest'
import type { AttemptOutcome, SuccessPolicy } from '../../src/contracts/delivery.ts'
import {
  afterAttempt,
  attemptsOf,
  beginEvent,
  destinationOutcome,
  dueAtOnce,
  endOpen,
  eventStatus,
  isOpenAt,
  isTooLate,
  nextRounds,
  openEndpoints,
  openEndpointsAt,
  reasonOf,
  settleDestination,
  withDestination,
} from '../../src/contracts/parcel-progress.ts'
import type { DestinationProgress, EndpointProgress, EventProgress } from '../../src/contracts/parcels.ts'

const attempt = { endpointId: 'ep', at: '2026-01-01T00:00:00.000Z', durationMs: 3 }
const delivered: AttemptOutcome = { kind: 'delivered', attempt }
const unavailable: AttemptOutcome = {
  kind: 'unavailable',
  attempt: { ...attempt, status: 503, error: 'status 503' },
  pausedTotalMs: 0,
}
const rejected: AttemptOutcome = { kind: 'rejected', reason: 'status 404', attempt: { ...attempt, status: 404 } }
const discarded: AttemptOutcome = { kind: 'discarded', reason: 'the user was deleted' }
const held: AttemptOutcome = { kind: 'held' }
const keptAway: AttemptOutcome = { kind: 'deferred', turnInMs: 400, reason: 'the endpoint is down', isDown: true }
const turnedAway: AttemptOutcome = { kind: 'deferred', turnInMs: 50, reason: 'not attempted: endpoint saturated' }

const begun: EndpointProgress = { endpointId: 'ep', attempts: 0, made: [], waits: 'turn' }

const now = 1_800_000_000_000
const moment = { now, random: () => 1 }
const pace = { retry: { initialMs: 10_000, maxMs: 900_000 }, windowEndsAt: now + 14_400_000 }
const then = (before: EndpointProgress, outcome: AttemptOutcome): EndpointProgress =>
  afterAttempt(before, outcome, pace, moment)

/** An endpoint after some outcomes, in turn. */
const after = (...outcomes: AttemptOutcome[]): EndpointProgress => outcomes.reduce(then, begun)

const destination = (successPolicy: SuccessPolicy, ...endpoints: EndpointProgress[]): DestinationProgress => ({
  destinationId: 'dst',
  successPolicy,
  endpoints: endpoints.map((endpoint, index) => ({ ...endpoint, endpointId: `ep-${index}` })),
})

/** An event with one destination for each list of endpoints, where any endpoint is enough. */
const event = (...destinations: EndpointProgress[][]): EventProgress => ({
  place: 0,
  destinations: destinations.map((endpoints, index) => ({
    ...destination('any', ...endpoints),
    destinationId: `dst-${index}`,
  })),
})

describe('an endpoint after an attempt', () => {
  it('keeps what Temporal takes of a hundred events at five endpoints that answer at length, however often', () => {
    const long: AttemptOutcome = {
      kind: 'unavailable',
      attempt: { ...attempt, status: 503, error: 'status 503: '.padEnd(100, '.'), evidence: 'x'.repeat(1_300) },
      pausedTotalMs: 0,
    }
    const tried = after(...Array.from({ length: 30 }, () => long))
    expect(tried.attempts).toBe(30)
    expect(tried.made.map(({ evidence }) => evidence?.length)).toEqual([...Array<undefined>(9), 1_300])
    const parcel = Array.from({ length: 100 }, () => event([tried, tried, tried, tried, tried]))
    expect(Buffer.byteLength(JSON.stringify(parcel))).toBeLessThan(2_000_000)
  })

  it.each<[string, AttemptOutcome, Partial<EndpointProgress>]>([
    ['took the event', delivered, { attempts: 1, end: 'delivered' }],
    ['failed in a way that may pass', unavailable, { attempts: 1, waits: 'retry', reason: 'status 503' }],
    ['refused the event', rejected, { attempts: 1, end: 'failed', reason: 'status 404' }],
    [
      'was not asked, for a request is impossible',
      { kind: 'rejected', reason: 'gone' },
      { attempts: 0, end: 'failed' },
    ],
    ['is not to have it any more', discarded, { attempts: 0, end: 'discarded', reason: 'the user was deleted' }],
    ['had no place', turnedAway, { attempts: 0, waits: 'turn', reason: 'not attempted: endpoint saturated' }],
    ['was down', keptAway, { attempts: 0, waits: 'turn', reason: 'the endpoint is down', isDown: true }],
    ['is paused', held, { attempts: 0, waits: 'hold' }],
  ])('%s', (_, outcome, expected) => {
    const endpoint = after(outcome)
    expect(endpoint).toMatchObject(expected)
    expect(endpoint.made).toHaveLength(expected.attempts ?? 0)
    expect('waits' in endpoint).toBe(endpoint.end === undefined)
  })

  it('keeps counting, and keeps the newest attempts alone', () => {
    const many = Array.from({ length: 14 }, (_, n): AttemptOutcome => {
      return { ...unavailable, attempt: { ...attempt, error: `failure ${n}` }, pausedTotalMs: 0 }
    })
    const endpoint = after(...many)
    expect(endpoint.attempts).toBe(14)
    expect(endpoint.made.map(({ error }) => error)).toEqual(Array.from({ length: 10 }, (_, n) => `failure ${n + 4}`))
    expect(then(endpoint, delivered)).toMatchObject({ attempts: 15, end: 'delivered' })
  })

  it('still waits for a retry, and not for a first turn, when an attempt was made before', () => {
    expect(after(unavailable, { kind: 'deferred' })).toMatchObject({
      waits: 'retry',
      reason: 'status 503',
      attempts: 1,
    })
    expect(after(unavailable, turnedAway)).toMatchObject({
      waits: 'retry',
      reason: 'not attempted: endpoint saturated',
    })
    expect(after(unavailable, held)).toMatchObject({ waits: 'hold', reason: 'status 503' })
    expect(after(held, unavailable)).toMatchObject({ waits: 'retry', attempts: 1 })
    expect(after(unavailable, delivered)).not.toHaveProperty('reason')
  })
})

describe('the next attempt of an endpoint', () => {
  it.each<[string, AttemptOutcome[], number | undefined]>([
    ['is after its own pause', [unavailable], 10_000],
    ['is after a pause that grows', [unavailable, unavailable], 20_000],
    ['is in its turn', [turnedAway], 50],
    ['is in its turn when it failed before', [unavailable, turnedAway], 50],
    ['is soon where its turn was not told', [{ kind: 'deferred' }], 1_000],
    ['is open while the destination is paused', [unavailable, held], undefined],
    ['is never once it is settled', [unavailable, delivered], undefined],
  ])('%s', (_, outcomes, inMs) => {
    expect(after(...outcomes).dueAt).toBe(inMs === undefined ? undefined : now + inMs)
  })

  const due = (...ms: number[]): EndpointProgress[] => ms.map((inMs) => ({ ...begun, dueAt: now + inMs }))

  it.each<[string, EndpointProgress[], number]>([
    ['the one that is due', due(10_000), 10_000],
    ['those that failed together', due(10_000, 9_400, 12_000), 12_000],
    ['those that wait for a turn, long before those that failed', due(300, 10_000, 700, 10_100), 700],
    ['those that are late', due(-5_000, 300, 10_000), 300],
    ['an endpoint of which nothing is known', [begun], 1_000],
    ['one that failed in a parcel of an early version', [{ ...begun, attempts: 3, waits: 'retry' }], 40_000],
  ])('comes with a round for %s', (_, waiting, inMs) => {
    expect(nextRounds(waiting, () => pace, moment)).toEqual([{ at: now + inMs, endpoints: waiting }])
  })

  it('comes with a round of its own where its window ends at another time, and too late where that is over before', () => {
    const waiting = due(10_000, 20_000, 11_000).map((endpoint, n) => ({ ...endpoint, endpointId: `ep-${n}` }))
    const [first, other, last] = waiting
    const paceAt = (endpointId: string) => (endpointId === 'ep-1' ? { ...pace, windowEndsAt: now + 20_000 } : pace)
    const rounds = nextRounds(waiting, paceAt, moment)
    expect(rounds).toEqual([
      { at: now + 11_000, endpoints: [first, last] },
      { at: now + 20_000, endpoints: [other] },
    ])
    expect(rounds.map((round) => isTooLate(round, paceAt))).toEqual([false, true])
  })

  it('may be at once', () => {
    const early = dueAtOnce(event([after(unavailable)], [after(turnedAway), after(delivered)]))
    expect(openEndpointsAt([early], 'dst-0')).toMatchObject([{ attempts: 1, waits: 'retry', reason: 'status 503' }])
    expect(JSON.stringify(early)).not.toContain('dueAt')
  })
})

describe('a destination where any endpoint is enough', () => {
  it('ends the others that had their attempt once one took the event, and leaves first attempts to be made', () => {
    const settled = settleDestination(destination('any', after(unavailable), after(delivered), begun, after(rejected)))
    expect(settled.endpoints.map(({ end, waits }) => end ?? waits)).toEqual([
      'superseded',
      'delivered',
      'turn',
      'failed',
    ])
    expect(destinationOutcome(settled)).toBeUndefined()
    const [first, second, , fourth] = settled.endpoints
    if (!first || !second || !fourth) throw new Error('an endpoint is missing')
    expect(destinationOutcome(destination('any', first, second, after(rejected), fourth))).toBe('delivered')
  })

  it('changes nothing before', () => {
    const open = destination('any', after(unavailable), begun)
    expect(settleDestination(open)).toBe(open)
  })

  it('has failed when all have', () => {
    expect(destinationOutcome(destination('any', after(rejected), after(rejected)))).toBe('failed')
  })
})

describe('a destination where all endpoints are needed', () => {
  it('ends nothing because of a success, and is delivered when all are', () => {
    const open = destination('all', after(delivered), after(unavailable))
    expect(settleDestination(open)).toBe(open)
    expect(destinationOutcome(open)).toBeUndefined()
    expect(openEndpoints(open).map(({ endpointId }) => endpointId)).toEqual(['ep-1'])
    expect(destinationOutcome(destination('all', after(delivered), after(unavailable, delivered)))).toBe('delivered')
  })

  it.each<[AttemptOutcome, string]>([
    [rejected, 'failed'],
    [discarded, 'discarded'],
  ])('has the worse outcome of its endpoints: %j', (outcome, expected) => {
    expect(destinationOutcome(destination('all', after(delivered), after(outcome)))).toBe(expected)
  })
})

it('ends what is open with the reason of each endpoint', () => {
  const ended = endOpen(destination('all', after(delivered), after(unavailable), begun), 'failed', ({ reason }) => {
    return reason ?? 'nothing made'
  })
  expect(ended.endpoints.map(({ end, reason }) => [end, reason])).toEqual([
    ['delivered', undefined],
    ['failed', 'status 503'],
    ['failed', 'nothing made'],
  ])
})

it('ends those alone that are meant', () => {
  const ended = endOpen(
    destination('all', after(unavailable), after(unavailable)),
    'failed',
    () => 'over',
    ({ endpointId }) => endpointId === 'ep-1',
  )
  expect(ended.endpoints.map(({ end }) => end)).toEqual([undefined, 'failed'])
})

describe('an event', () => {
  it('begins with every endpoint in turn', () => {
    const progress = beginEvent(
      { targets: [{ destinationId: 'dst', endpointIds: ['a', 'b'], successPolicy: 'all' }] },
      7,
    )
    expect(progress.place).toBe(7)
    expect(eventStatus(progress)).toBe('delivering')
    expect(attemptsOf(progress)).toBe(0)
    expect(reasonOf(progress)).toBeUndefined()
    expect(progress.destinations[0]?.endpoints).toEqual([
      { ...begun, endpointId: 'a' },
      { ...begun, endpointId: 'b' },
    ])
    expect([isOpenAt(progress, 'dst'), isOpenAt(progress, 'other')]).toEqual([true, false])
  })

  it.each<[string, EventProgress, string | undefined]>([
    ['delivering', event([after(turnedAway)], [after(delivered)]), 'not attempted: endpoint saturated'],
    ['retrying', event([after(unavailable)], [begun]), 'status 503'],
    ['retrying', event([after(keptAway)], [begun]), 'the endpoint is down'],
    ['delivering', event([after(keptAway, turnedAway)]), 'not attempted: endpoint saturated'],
    ['retrying', event([after(rejected)], [after(unavailable)]), 'status 503'],
    ['held', event([after(unavailable)], [after(held)]), 'status 503'],
    ['held', event([after(held)]), undefined],
    ['delivered', event([after(delivered)], [after(delivered)]), undefined],
    ['partly_delivered', event([after(delivered)], [after(discarded)]), 'the user was deleted'],
    ['partly_delivered', event([after(delivered)], [after(discarded)], [after(rejected)]), 'status 404'],
    ['failed', event([after(discarded)], [after(rejected)]), 'status 404'],
    ['discarded', event([after(discarded)]), 'the user was deleted'],
  ])('is %s, with the reason', (status, progress, reason) => {
    expect(eventStatus(progress)).toBe(status)
    expect(reasonOf(progress)).toBe(reason)
  })

  it('is cancelled whatever is open, and counts all attempts that were made', () => {
    const progress = { ...event([after(unavailable, unavailable)], [after(delivered)]), end: 'cancelled' as const }
    expect(eventStatus(progress)).toBe('cancelled')
    expect(isOpenAt(progress, 'dst-0')).toBe(false)
    expect(attemptsOf(progress)).toBe(3)
  })

  it('is changed in one destination without a word about the others', () => {
    const before = event([begun], [begun])
    const [first, second] = before.destinations
    if (!first || !second) throw new Error('a destination is missing')
    const changed = withDestination(before, { ...second, endpoints: [after(delivered)] })
    expect(changed.destinations[0]).toBe(first)
    expect(changed.destinations[1]?.endpoints[0]?.end).toBe('delivered')
    expect(before.destinations[1]).toBe(second)
  })
})
