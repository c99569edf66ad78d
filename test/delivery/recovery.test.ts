/** Which of the tries that wait for an endpoint are woken, and when. The clock is set by hand: pauses are minutes. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { WaitingTry } from '../../src/contracts/delivery.ts'
import { createGate, type Gate } from '../../src/delivery/gate.ts'
import { gateBounds } from '../../src/delivery/gate-bounds.ts'
import { runRecovery, type Recovery } from '../../src/delivery/recovery.ts'

const minuteMs = 60_000
const endpoint = { id: 'a', url: 'http://a', origin: 'http://a' }
const tryOf = (activityId: string): WaitingTry => ({ workflowId: 'w', runId: 'r', activityId })

let gate: Gate
let recovery: Recovery
let woken: string[]
/** Tries that do not wait any more, which nobody told. */
let areGone: Set<string>
/** Called with each try that is woken: it is made at once. */
let onWoken: (one: WaitingTry) => void
/** Awaited before a try is woken. */
let call: (one: WaitingTry) => Promise<void>

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms)

const attempt = async (result: 'answered' | 'failed', at = endpoint): Promise<void> => {
  const admission = await gate.admit(at, 'retry')
  if (admission.kind === 'go') admission.leave(result)
}

const bringDown = async (): Promise<void> => {
  for (let made = 0; gate.closedSince('a') === undefined; made++) {
    if (made > 1_000) throw new Error('never down')
    await attempt('failed')
    await pass(50)
  }
}

const comeBack = async (): Promise<void> => {
  for (let asked = 0; gate.closedSince('a') !== undefined; asked++) {
    if (asked > 1_000) throw new Error('never back')
    await pass(100)
    await attempt('answered')
  }
}

beforeEach(() => {
  vi.useFakeTimers()
  gate = createGate(gateBounds({ windowMs: 240 * minuteMs, initialMs: 10_000, maxMs: 15 * minuteMs }))
  woken = []
  areGone = new Set()
  onWoken = () => {}
  call = () => Promise.resolve()
  recovery = runRecovery({
    gate,
    async wake(one) {
      await call(one)
      woken.push(one.activityId)
      recovery.forget(one)
      if (areGone.has(one.activityId)) return false
      onWoken(one)
      return true
    },
  })
})
afterEach(async () => {
  await recovery.stop()
  vi.useRealTimers()
})

describe('a try that waits', () => {
  it('is woken once its endpoint is back, if it was kept away or failed before', async () => {
    recovery.note('a', tryOf('failed'), {})
    await bringDown()
    recovery.note('a', tryOf('kept away'), { isDown: true, turnInMs: minuteMs })
    await pass(minuteMs)
    expect(woken).toEqual([])
    await comeBack()
    await pass(1_000)
    expect(woken).toEqual(['failed', 'kept away'])
  })

  it('is woken where it failed before its endpoint was back, and was told of only then', async () => {
    await bringDown()
    recovery.note('a', tryOf('finds out'), {})
    await pass(minuteMs)
    recovery.forget(tryOf('finds out'))
    await comeBack()
    recovery.note('a', tryOf('failed before'), { waitedMs: minuteMs })
    recovery.note('a', tryOf('failed since'), { waitedMs: 0 })
    await pass(1_000)
    expect(woken).toEqual(['failed before'])
  })

  it('is woken when its turn is, if it found no place while its endpoint recovered', async () => {
    await bringDown()
    recovery.note('a', tryOf('one'), { isDown: true, turnInMs: 1_000 })
    onWoken = (one) => {
      if (woken.length < 4) recovery.note('a', one, { turnInMs: 20_000 })
    }
    await comeBack()
    await pass(10_000)
    expect(woken).toHaveLength(1)
    await pass(60_000)
    expect(woken).toEqual(['one', 'one', 'one', 'one'])
  })

  it('is woken when its turn is, though another one, told after it, has its turn long before', async () => {
    await bringDown()
    for (const id of ['late', 'soon']) recovery.note('a', tryOf(id), { isDown: true, turnInMs: 1_000 })
    const turns = new Map([
      ['late', 50_000],
      ['soon', 500],
    ])
    onWoken = (one) => {
      const turnInMs = turns.get(one.activityId)
      turns.delete(one.activityId)
      if (turnInMs !== undefined) recovery.note('a', one, { turnInMs })
    }
    await comeBack()
    await pass(2 * minuteMs)
    expect(woken).toEqual(['late', 'soon', 'soon', 'late'])
  })

  it('keeps its own pause where it found no place at an endpoint that was not down', async () => {
    await attempt('answered')
    recovery.note('a', tryOf('one'), { turnInMs: 1_000 })
    await pass(minuteMs)
    expect(woken).toEqual([])
  })

  it('keeps its own pause where it failed since its endpoint is back, whatever else is woken', async () => {
    await bringDown()
    for (const id of ['one', 'two']) recovery.note('a', tryOf(id), { isDown: true })
    onWoken = (one) => {
      recovery.note('a', one, one.activityId === 'one' ? {} : { turnInMs: 100 })
    }
    await comeBack()
    await pass(5_000)
    expect(woken.filter((id) => id === 'one')).toHaveLength(1)
    expect(woken.filter((id) => id === 'two').length).toBeGreaterThan(4)
  })
})

describe('a try that comes by itself', () => {
  it('is not woken just before, nor after: another node may be making it', async () => {
    await bringDown()
    recovery.note('a', tryOf('comes later'), { isDown: true, comesInMs: 10 * minuteMs })
    recovery.note('a', tryOf('came'), { isDown: true, comesInMs: 1_000 })
    await pass(2_000)
    recovery.note('a', tryOf('comes soon'), { isDown: true, comesInMs: 1_000 })
    await comeBack()
    await pass(1_000)
    expect(woken).toEqual(['comes later'])
  })

  it('is no probe after its time', async () => {
    await bringDown()
    for (let n = 0; n < 40; n++) recovery.note('a', tryOf(`came ${n}`), { isDown: true, comesInMs: 1_000 })
    expect(recovery.hasProbers('a')).toBe(true)
    await pass(minuteMs)
    expect([woken, recovery.hasProbers('a')]).toEqual([[], false])
  })
})

describe('a call that fails or takes long', () => {
  it('holds up no other try of the endpoint', async () => {
    await bringDown()
    for (const id of ['one', 'two', 'three']) recovery.note('a', tryOf(id), { isDown: true })
    call = ({ activityId }) => (activityId === 'one' ? Promise.reject(new Error('busy')) : Promise.resolve())
    await comeBack()
    await pass(5_000)
    expect(woken).toEqual(['two', 'three'])
  })

  it('holds up no endpoint that is back, where it is for one that is down', async () => {
    await bringDown()
    for (let n = 0; n < 40; n++) recovery.note('a', tryOf(`of a ${n}`), { isDown: true })
    let answer = (): void => {}
    const answered = new Promise<void>((resolve) => (answer = resolve))
    call = ({ activityId }) => (activityId === 'of b' ? Promise.resolve() : answered)
    await pass(1_000)
    recovery.note('b', tryOf('of b'), { isDown: true })
    await attempt('answered', { id: 'b', url: 'http://b', origin: 'http://b' })
    await pass(2_000)
    const meanwhile = [...woken]
    answer()
    expect(meanwhile).toEqual(['of b'])
  })
})

describe('an endpoint that is down', () => {
  const many = Array.from({ length: 40 }, (_, index) => `try ${index}`)
  const waitFor = (tries: readonly string[]): void => {
    for (const one of tries) recovery.note('a', tryOf(one), { isDown: true, turnInMs: minuteMs })
  }
  /** A woken try that probes, in vain. */
  const probeInVain = (one: WaitingTry): void => {
    void attempt('failed').then(() => recovery.note('a', one, {}))
  }

  it('is probed by those that wait for it, each in its turn, when a probe is due', async () => {
    await bringDown()
    waitFor(many)
    onWoken = probeInVain
    await pass(9 * minuteMs)
    expect(woken.length).toBeGreaterThan(45)
    expect(woken.length).toBeLessThan(70)
    expect(woken.slice(0, 45)).toEqual([...many, ...many.slice(0, 5)])
  })

  it('is probed by the next one where others wait no longer', async () => {
    await bringDown()
    waitFor(many)
    onWoken = probeInVain
    areGone = new Set(many.slice(0, 5))
    await pass(1_000)
    expect(woken).toContain('try 5')
  })

  it('is left to further events while few wait for it', async () => {
    await bringDown()
    waitFor(many.slice(0, 10))
    await pass(minuteMs)
    expect([woken, recovery.hasProbers('a')]).toEqual([[], false])
    waitFor(many)
    expect(recovery.hasProbers('a')).toBe(true)
  })
})
