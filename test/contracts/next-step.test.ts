/** What follows an outcome at an endpoint, whoever asks. */

import { describe, expect, it } from 'vitest'
import type { AttemptOutcome } from '../../src/contracts/delivery.ts'
import {
  destinationGone,
  endpointResult,
  nextStep,
  withinWindow,
  type EndpointOutcome,
  type EndpointState,
  type NextStep,
} from '../../src/contracts/next-step.ts'

const now = 1_800_000_000_000
const hour = 3_600_000
const attempt = { endpointId: 'ep', at: '2026-01-01T00:00:00.000Z', durationMs: 3 }
const down = { ...attempt, status: 503, error: 'status 503' }
const retry = { initialMs: 10_000, maxMs: 900_000 }
const fresh: EndpointState = { attempts: 0, retry, windowEndsAt: now + 4 * hour }
/** The whole pause is waited. */
const moment = { now, random: () => 1 }

const unavailable = (retryAfterMs?: number): AttemptOutcome => ({
  kind: 'unavailable',
  attempt: down,
  pausedTotalMs: 0,
  ...(retryAfterMs !== undefined && { retryAfterMs }),
})
const deferred = (turnInMs?: number, reason?: string): AttemptOutcome => ({
  kind: 'deferred',
  ...(turnInMs !== undefined && { turnInMs }),
  ...(reason !== undefined && { reason }),
})
const resumed = (kind: 'active' | 'discarded'): EndpointOutcome => ({
  kind: 'resumed',
  state: { kind, pausedTotalMs: 5_000 },
})
const exhausted = (wasTurnedAway = false, pauseMs?: number): EndpointOutcome => ({
  kind: 'exhausted',
  reason: 'nobody came',
  wasTurnedAway,
  ...(pauseMs !== undefined && { pauseMs }),
})
const retryIn = (ms: number, reason = 'status 503'): NextStep => ({
  kind: 'wait',
  for: 'retry',
  until: now + ms,
  reason,
})
const turnIn = (ms: number, reason = 'not attempted'): NextStep => ({
  kind: 'wait',
  for: 'turn',
  until: now + ms,
  reason,
})
const settle = (end: 'delivered' | 'failed' | 'discarded' | 'superseded', reason?: string): NextStep => ({
  kind: 'settle',
  end,
  ...(reason !== undefined && { reason }),
})

it.each<[string, Partial<EndpointState>, EndpointOutcome, NextStep]>([
  ['a success settles it', { attempts: 1 }, { kind: 'delivered', attempt }, settle('delivered')],
  ['a final answer settles it', { attempts: 1 }, { kind: 'rejected', reason: '404', attempt }, settle('failed', '404')],
  ['so does an attempt that cannot be made', {}, { kind: 'rejected', reason: 'removed' }, settle('failed', 'removed')],
  ['nobody wants it any more', {}, { kind: 'discarded', reason: 'deleted' }, settle('discarded', 'deleted')],
  ['a paused destination holds it', { attempts: 2 }, { kind: 'held' }, { kind: 'hold' }],

  ['a failure that may pass', { attempts: 1 }, unavailable(), retryIn(10_000)],
  ['the third one', { attempts: 3 }, unavailable(), retryIn(40_000)],
  ['one of many: the longest pause', { attempts: 40 }, unavailable(), retryIn(900_000)],
  ['one that asks for more time', { attempts: 1 }, unavailable(60_000), retryIn(60_000)],
  ['one that asks for less than its pause', { attempts: 1 }, unavailable(3_000), retryIn(10_000)],
  ['one that asks for a day: a quarter of the window', { attempts: 1 }, unavailable(24 * hour), retryIn(hour)],
  ['the same, by an early version', { attempts: 1, obeysInFull: true }, unavailable(24 * hour), retryIn(24 * hour)],
  [
    'one that asks for time at the end of the window',
    { attempts: 1, windowEndsAt: now + 80_000 },
    unavailable(60_000),
    retryIn(20_000),
  ],

  ['its turn is told', {}, deferred(700), turnIn(700)],
  ['its turn, with the reason', {}, deferred(700, 'saturated'), turnIn(700, 'saturated')],
  ['a turn far away: the longest pause', {}, deferred(hour), turnIn(900_000)],
  ['a turn after the window: half of what is left', { windowEndsAt: now + 8_000 }, deferred(60_000), turnIn(4_000)],
  ['a turn when the window is over', { windowEndsAt: now - 1 }, deferred(60_000), turnIn(1)],
  [
    'it is down',
    {},
    { kind: 'deferred', turnInMs: 700, reason: 'down', isDown: true },
    { kind: 'wait', for: 'turn', until: now + 700, reason: 'down', isDown: true },
  ],
  ['no turn is told', {}, deferred(), { kind: 'attempt', beginsWindow: false }],
  ['its turn, after an attempt that failed', { attempts: 2, reason: 'status 503' }, deferred(700), retryIn(700)],
  [
    'a try that costs a task pauses, too',
    { attempts: 2, pausesInVain: true },
    deferred(700, 'full'),
    retryIn(20_000, 'full'),
  ],
  [
    'but not where only a bound that is set keeps it back',
    { attempts: 2, pausesInVain: true },
    { kind: 'deferred', turnInMs: 700, reason: 'paced', isPaced: true },
    retryIn(700, 'paced'),
  ],
  [
    'and no longer than half of what is left, where that would end it before its time',
    { attempts: 3, pausesInVain: true, windowEndsAt: now + 38_000 },
    deferred(700, 'full'),
    retryIn(19_000, 'full'),
  ],
  [
    'nor shorter than the first pause',
    { attempts: 3, pausesInVain: true, windowEndsAt: now + 12_000 },
    deferred(700, 'full'),
    retryIn(10_000, 'full'),
  ],
  ['or until its turn', { attempts: 1, pausesInVain: true }, deferred(50_000, 'full'), retryIn(50_000, 'full')],

  ['resumed before its first attempt', {}, resumed('active'), { kind: 'attempt', beginsWindow: true }],
  ['resumed in the middle', { attempts: 2 }, resumed('active'), { kind: 'attempt', beginsWindow: false }],
  ['switched off while it was held', { attempts: 2 }, resumed('discarded'), settle('discarded', destinationGone)],

  ['nobody came in the whole window', {}, exhausted(), { kind: 'attempt', beginsWindow: true }],
  ['it was turned away in the whole window', {}, exhausted(true), retryIn(10_000, 'nobody came')],
  ['Temporal gave up', { attempts: 2 }, exhausted(), retryIn(20_000, 'nobody came')],
  ['Temporal gave up in a pause', { attempts: 2 }, exhausted(true, 45_000), retryIn(45_000, 'nobody came')],
])('%s', (_, state, outcome, expected) => {
  expect(nextStep({ ...fresh, ...state }, outcome, moment)).toEqual(expected)
})

describe('where another endpoint took the event', () => {
  it.each<[string, Partial<EndpointState>, EndpointOutcome, NextStep]>([
    ['its success counts', { attempts: 1 }, { kind: 'delivered', attempt }, settle('delivered')],
    ['a final answer is told', { attempts: 1 }, { kind: 'rejected', reason: '404' }, settle('failed', '404')],
    ['a failure ends it', { attempts: 1 }, unavailable(), settle('superseded', 'status 503')],
    ['a hold ends it', { reason: 'full' }, { kind: 'held' }, settle('superseded', 'full')],
    ['giving up ends it', { attempts: 1 }, exhausted(), settle('superseded', 'nobody came')],
    ['it still gets its first attempt in turn', {}, deferred(700), turnIn(700)],
    ['and where nobody came', {}, exhausted(), { kind: 'attempt', beginsWindow: true }],
  ])('%s', (_, state, outcome, expected) => {
    expect(nextStep({ ...fresh, ...state, isSuperseded: true }, outcome, moment)).toEqual(expected)
  })
})

describe('the window', () => {
  it.each<[string, number, NextStep, NextStep]>([
    ['has room', 10_001, retryIn(10_000), retryIn(10_000)],
    ['is over just then', 10_000, retryIn(10_000), settle('failed', 'status 503')],
    ['was over', -5_000, retryIn(10_000), settle('failed', 'status 503')],
    ['does not end a hold', -5_000, { kind: 'hold' }, { kind: 'hold' }],
    ['does not end what has an end', -5_000, settle('delivered'), settle('delivered')],
  ])('%s', (_, leftMs, step, expected) => {
    expect(withinWindow(step, { windowEndsAt: now + leftMs })).toEqual(expected)
  })

  it('has room again when a pause of the destination gave time back', () => {
    const state = { ...fresh, attempts: 2, windowEndsAt: now + 15_000 }
    const step = nextStep(state, exhausted(false, 30_000), moment)
    expect(withinWindow(step, state)).toEqual(settle('failed', 'nobody came'))
    expect(withinWindow(step, { windowEndsAt: state.windowEndsAt + 60_000 })).toEqual(step)
  })
})

it('waits at least half of a pause, as chance will have it', () => {
  const step = nextStep({ ...fresh, attempts: 2 }, unavailable(), { now, random: () => 0 })
  expect(step).toEqual(retryIn(10_000))
})

it('keeps of an endpoint that ended what its end tells', () => {
  const made = { endpointId: 'ep', attempts: 3, lastAttempt: down }
  expect(endpointResult(made, { end: 'failed', reason: 'status 503' })).toEqual({
    endpointId: 'ep',
    outcome: 'failed',
    attempts: 3,
    reason: 'status 503',
    lastAttempt: down,
  })
  expect(endpointResult(made, { end: 'superseded' })).toEqual({ endpointId: 'ep', outcome: 'superseded', attempts: 3 })
})
