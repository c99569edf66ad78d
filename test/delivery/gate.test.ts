import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Admission, Asked, AttemptKind, AttemptResult, GatedEndpoint } from '../../src/delivery/admission.ts'
import { createGate, gatedEndpoint, type Gate } from '../../src/delivery/gate.ts'
import { gateBounds, type GateBounds, type ShareBounds } from '../../src/delivery/gate-bounds.ts'

const retry = { windowMs: 4 * 60 * 60_000, initialMs: 10_000, maxMs: 15 * 60_000 }
const usual = gateBounds(retry)
const timeLimitMs = 5_000

const noLine = { maxWaiting: 0, waitMs: 0 }
const longLine = { maxWaiting: 10, waitMs: 60_000 }

/** A gate where first attempts and retries have the same bounds. */
const gateWith = (share: Partial<ShareBounds>, others: Partial<GateBounds> = {}): Gate => {
  const bounds = { start: 2, most: 2, inAll: 1_000, ...noLine, ...share }
  return createGate({ ...usual, perOrigin: 1_000, ...others, first: bounds, retry: bounds })
}

/** A node's gate, at which nobody waits in line. */
const usualGate = (): Gate => createGate({ ...usual, first: { ...usual.first, ...noLine } })

/** An endpoint at a host of its own unless told otherwise. */
const endpoint = (id: string, origin = `http://${id}`) => ({ id, url: origin, origin })

type Go = Extract<Admission, { kind: 'go' }>

const admit = async (gate: Gate, id: string, kind: AttemptKind = 'first', origin?: string): Promise<Admission> =>
  gate.admit(endpoint(id, origin), kind)

const enter = async (...asked: Parameters<typeof admit>): Promise<Go> => {
  const admission = await admit(...asked)
  if (admission.kind !== 'go') throw new Error(`turned away: ${admission.reason}`)
  return admission
}

/** Enters as long as there is a place, at a gate without a line. */
const enterAll = async (...asked: Parameters<typeof admit>): Promise<Go[]> => {
  const entered: Go[] = []
  for (let next = await admit(...asked); next.kind === 'go'; next = await admit(...asked)) entered.push(next)
  return entered
}

/** One attempt that is over at once. @returns whether it was made */
const attempt = async (gate: Gate, id: string, result: AttemptResult, tookMs = 0): Promise<boolean> => {
  const admission = await admit(gate, id, 'retry')
  if (admission.kind === 'later') return false
  vi.advanceTimersByTime(tookMs)
  admission.leave(result)
  return true
}

/** Fails 20 times a second until the endpoint is held to be down. @returns how many attempts were made */
const bringDown = async (gate: Gate, id: string): Promise<number> => {
  let made = 0
  while (gate.closedSince(id) === undefined) {
    if (++made > 1_000) throw new Error('never down')
    await attempt(gate, id, 'failed')
    vi.advanceTimersByTime(50)
  }
  return made
}

// Paces and pauses are worked out from the clock, which a busy machine would make the test's opponent.
beforeEach(() => vi.useFakeTimers({ toFake: ['performance', 'Date', 'setTimeout', 'clearTimeout'] }))
afterEach(() => vi.useRealTimers())

describe('places at an endpoint', () => {
  it('are bounded for each on its own and come back when an attempt leaves', async () => {
    const gate = gateWith({})
    const first = await enter(gate, 'a')
    await enter(gate, 'a')
    expect(await admit(gate, 'a')).toMatchObject({ kind: 'later', reason: 'not attempted: endpoint saturated' })
    await enter(gate, 'b')
    first.leave('answered')
    await enter(gate, 'a')
    expect((await admit(gate, 'a')).kind).toBe('later')
  })

  it('are counted apart for first attempts and retries', async () => {
    const gate = gateWith({ start: 1 })
    await enter(gate, 'a', 'first')
    await enter(gate, 'a', 'retry')
    expect((await admit(gate, 'a', 'first')).kind).toBe('later')
    expect((await admit(gate, 'a', 'retry')).kind).toBe('later')
  })

  it('come back once, however often an attempt leaves', async () => {
    const gate = gateWith({ start: 1, most: 1 })
    const { leave } = await enter(gate, 'a')
    leave('answered')
    await enter(gate, 'a')
    leave('answered')
    expect((await admit(gate, 'a')).kind).toBe('later')
  })

  it('are earned by answers: few at first, 64 side by side in the end', async () => {
    const gate = usualGate()
    const entered = await enterAll(gate, 'a')
    expect(entered).toHaveLength(usual.first.start)
    for (const { leave } of entered) leave('answered')
    const more = await enterAll(gate, 'a')
    expect(more).toHaveLength(2 * usual.first.start)
    for (const { leave } of more) leave('answered')
    for (const { leave } of await enterAll(gate, 'a')) leave('answered')
    expect(await enterAll(gate, 'a')).toHaveLength(64)
  })

  it('are those of a new endpoint again once nothing comes back', async () => {
    const gate = usualGate()
    for (let n = 0; n < 100; n++) (await enter(gate, 'a')).leave('answered')
    await Promise.all(Array.from({ length: 20 }, () => enter(gate, 'a')))
    vi.advanceTimersByTime(600)
    expect(gate.isShut('a')).toBe(true)
    expect((await admit(gate, 'a')).kind).toBe('later')
  })

  it('are fewer while the endpoint hangs, and as many as before once it answers', async () => {
    const gate = gateWith({ start: 4, most: 4 }, { hangsMs: 50 })
    const begun = await enterAll(gate, 'a')
    expect(begun).toHaveLength(4)
    vi.advanceTimersByTime(60)
    const [last, ...others] = begun
    for (const { leave } of others) leave('failed')
    expect((await admit(gate, 'a')).kind).toBe('later')
    // What first attempts have shown counts for retries.
    const again = await enter(gate, 'a', 'retry')
    expect((await admit(gate, 'a', 'retry')).kind).toBe('later')
    again.leave('failed')
    last?.leave('failed')
    for (let n = 0; n < 10; n++) await attempt(gate, 'a', 'answered')
    expect(await enterAll(gate, 'a')).toHaveLength(4)
  })

  it('are fewer at an endpoint that is new as long as nothing comes back', async () => {
    const gate = usualGate()
    const begun = await enter(gate, 'a')
    await enter(gate, 'a')
    expect(gate.isShut('a')).toBe(false)
    vi.advanceTimersByTime(600)
    expect(gate.isShut('a')).toBe(true)
    expect(gate.isAnswering('a')).toBe(false)
    begun.leave('answered')
    expect(gate.isShut('a')).toBe(false)
    expect(gate.isAnswering('a')).toBe(true)
    expect((await enterAll(gate, 'a')).length).toBeGreaterThan(usual.first.start / 2)
  })

  it('are those of another endpoint where its address has changed', async () => {
    const gate = gateWith({ start: 1, most: 1 })
    await enter(gate, 'a')
    await enter(gate, 'a', 'first', 'http://elsewhere')
    expect((await admit(gate, 'a', 'first', 'http://elsewhere')).kind).toBe('later')
  })
})

describe('the line', () => {
  it('is served in the order in which attempts came', async () => {
    const gate = gateWith({ start: 1, most: 1, ...longLine })
    const first = await enter(gate, 'a')
    const order: string[] = []
    const second = enter(gate, 'a').then((go) => (order.push('second'), go))
    const third = enter(gate, 'a').then((go) => (order.push('third'), go))
    first.leave('answered')
    const { leave } = await second
    expect(order).toEqual(['second'])
    leave('answered')
    await third
    expect(order).toEqual(['second', 'third'])
  })

  it('is not waited in for ever, and not by more than may wait', async () => {
    const gate = gateWith({ start: 1, most: 1, maxWaiting: 1, waitMs: 20 })
    const { leave } = await enter(gate, 'a')
    const waits = admit(gate, 'a')
    expect((await admit(gate, 'a')).kind).toBe('later')
    vi.advanceTimersByTime(20)
    expect((await waits).kind).toBe('later')
    leave('answered')
    await enter(gate, 'a')
  })

  it('is not waited in where too many are ahead, at the pace of the endpoint', async () => {
    const gate = gateWith({ maxWaiting: 100, waitMs: 100 })
    const first = await enter(gate, 'a')
    vi.advanceTimersByTime(60)
    const second = await enter(gate, 'a')
    first.leave('answered')
    const third = await enter(gate, 'a')
    const waiting: Promise<Admission>[] = []
    while (!gate.isShut('a')) waiting.push(admit(gate, 'a'))
    expect(waiting.length).toBeGreaterThan(0)
    expect(waiting.length).toBeLessThan(4)
    expect((await admit(gate, 'a')).kind).toBe('later')
    second.leave('answered')
    third.leave('answered')
    expect((await waiting[0])?.kind).toBe('go')
  })

  it('lets the gate be shut only where nobody may wait', async () => {
    const gate = gateWith({ start: 1, most: 1, maxWaiting: 1, waitMs: 50 })
    expect(gate.isShut('a')).toBe(false)
    const { leave } = await enter(gate, 'a')
    expect(gate.isShut('a')).toBe(false)
    vi.advanceTimersByTime(60)
    expect(gate.isShut('a')).toBe(true)
    expect(gate.isShut('b')).toBe(false)
    leave('answered')
    expect(gate.isShut('a')).toBe(false)
  })

  it('moves on when another endpoint of the host leaves a place', async () => {
    const gate = gateWith(longLine, { perOrigin: 1 })
    const { leave } = await enter(gate, 'a', 'first', 'http://one')
    const waits = admit(gate, 'b', 'first', 'http://one')
    leave('answered')
    expect((await waits).kind).toBe('go')
  })
})

describe('bounds that are set for an endpoint', () => {
  type Set = Pick<GatedEndpoint, 'maxPerSecond' | 'maxConcurrent'>
  const ask = async (gate: Gate, set: Set, kind: AttemptKind = 'first', asked?: Asked): Promise<Admission> =>
    gate.admit({ ...endpoint('a'), ...set }, kind, asked)
  const enterBounded = async (...[gate, set, kind]: Parameters<typeof ask>): Promise<Go> => {
    const admission = await ask(gate, set, kind)
    if (admission.kind === 'later') throw new Error(admission.reason)
    return admission
  }
  /** Enters and leaves at once whenever a place comes, for so long. @returns when each entered, in milliseconds */
  const watch = (gate: Gate, set: Set, kinds: readonly AttemptKind[]): { kind: AttemptKind; at: number }[] => {
    const entered: { kind: AttemptKind; at: number }[] = []
    for (const kind of kinds)
      void ask(gate, set, kind).then((admission) => {
        if (admission.kind === 'later') return
        entered.push({ kind, at: performance.now() })
        admission.leave('answered')
      })
    return entered
  }

  it('keep attempts of both kinds together to so many at a time', async () => {
    const gate = usualGate()
    const set = { maxConcurrent: 2 }
    const first = await enterBounded(gate, set, 'first')
    const second = await enterBounded(gate, set, 'retry')
    vi.advanceTimersByTime(600)
    const reason = 'not attempted: at most 2 at a time'
    expect(await ask(gate, set, 'first')).toMatchObject({ kind: 'later', reason, isPaced: true })
    expect(await ask(gate, set, 'retry')).toMatchObject({ kind: 'later', reason, isPaced: true })
    expect(gate.isShut('a') && gate.isBounded('a')).toBe(true)
    first.leave('answered')
    second.leave('answered')
    const [one, two] = [await enterBounded(gate, set, 'retry'), await enterBounded(gate, set, 'retry')]
    for (const { leave } of [one, two]) leave('answered')
  })

  it('spread requests evenly over each second, however they come', async () => {
    const gate = usualGate()
    const entered = watch(gate, { maxPerSecond: 20 }, ['first', 'retry', 'first', 'retry', 'first', 'retry', 'first'])
    const begun = performance.now()
    for (let n = 0; n < 100; n++) await vi.advanceTimersByTimeAsync(10)
    expect(entered).toHaveLength(7)
    entered.forEach(({ at }, n) => expect(at - begun).toBeGreaterThanOrEqual(n * 50))
  })

  it('let first attempts and retries go in turn', async () => {
    const gate = usualGate()
    const kinds = ['first', 'first', 'first', 'first', 'retry', 'retry'] as const
    const entered = watch(gate, { maxPerSecond: 20 }, kinds)
    for (let n = 0; n < 100; n++) await vi.advanceTimersByTimeAsync(10)
    expect(entered.map(({ kind }) => kind)).toEqual(['first', 'first', 'retry', 'first', 'retry', 'first'])
  })

  it('tell who finds no place when its turn is, behind those that were told before, and let nothing new pass them', async () => {
    const gate = usualGate()
    const set = { maxPerSecond: 10 }
    ;(await enterBounded(gate, set)).leave('answered')
    const waiting = watch(
      gate,
      set,
      Array.from({ length: 5 }, () => 'retry' as const),
    )
    const reason = 'not attempted: paced at 10/s'
    expect(await ask(gate, set, 'retry', { attempts: 10 })).toMatchObject({ inMs: 100, reason, isPaced: true })
    expect(await ask(gate, set, 'retry', { attempts: 30 })).toMatchObject({ inMs: 1_100 })
    expect(gate.turnAway({ ...endpoint('a'), ...set }, 'first', 5)).toMatchObject({ inMs: 4_100, reason })
    await vi.advanceTimersByTimeAsync(1_000)
    expect(waiting).toHaveLength(5)
    expect((await ask(gate, set, 'first')).kind).toBe('later')
    expect(gate.isShut('a')).toBe(true)
    ;(await enterBounded(gate, set, 'retry')).leave('answered')
    // Those that were told to come again do not come: they are waited for no longer.
    await vi.advanceTimersByTimeAsync(1_200)
    ;(await enterBounded(gate, set, 'first')).leave('answered')
  })

  it('hold for the probes of an endpoint that is down', async () => {
    const gate = usualGate()
    const set = { maxPerSecond: 1 }
    for (let n = 0; gate.closedSince('a') === undefined; n++) {
      expect(n).toBeLessThan(100)
      ;(await enterBounded(gate, set, 'retry')).leave('failed')
      await vi.advanceTimersByTimeAsync(1_000)
    }
    await vi.advanceTimersByTimeAsync(gate.probeInMs('a'))
    ;(await enterBounded(gate, set, 'retry')).leave('failed')
    const told = await ask(gate, set, 'retry', { isOrdered: true })
    expect(told.kind === 'later' && told.inMs).toBeGreaterThan(900)
  })

  it('count as they are now', async () => {
    const gate = usualGate()
    await enterBounded(gate, { maxConcurrent: 1 })
    vi.advanceTimersByTime(600)
    expect((await ask(gate, { maxConcurrent: 1 })).kind).toBe('later')
    await enterBounded(gate, { maxConcurrent: 2 }, 'retry')
    await enterBounded(gate, {}, 'retry')
    expect(gate.isBounded('a')).toBe(false)
  })
})

describe('who is turned away', () => {
  const inMs = (admission: Admission): number => (admission.kind === 'later' ? admission.inMs : 0)
  const turnedAway = async (gate: Gate, times: number): Promise<number[]> => {
    const told: number[] = []
    for (let n = 0; n < times; n++) told.push(inMs(await admit(gate, 'slow')))
    return told
  }

  it('is told to come one after the other, at the pace of the endpoint', async () => {
    const gate = gateWith({})
    const first = await enter(gate, 'slow')
    await enter(gate, 'slow')
    vi.advanceTimersByTime(60)
    first.leave('answered')
    await enter(gate, 'slow')
    expect(await turnedAway(gate, 3)).toEqual([30, 60, 90])
  })

  it('is told so by how long the oldest attempt takes, and as of an endpoint that hangs when that is long', async () => {
    const gate = gateWith({ start: 4, most: 4 }, { hangsMs: 400 })
    const [first] = await enterAll(gate, 'slow')
    vi.advanceTimersByTime(80)
    expect((await turnedAway(gate, 1))[0]).toBeLessThan(50)
    vi.advanceTimersByTime(130)
    const [one = 0, two = 0, three = 0] = await turnedAway(gate, 3)
    expect([two - one, three - two]).toEqual([400, 400])
    // It has answered after 210 ms, and four at a time.
    first?.leave('answered')
    await enter(gate, 'slow')
    expect((await turnedAway(gate, 1))[0]).toBeLessThan(300)
  })

  it('is kept away for no longer than set, however many were told to come again', async () => {
    const gate = gateWith({ start: 1, most: 1 }, { maxAwayMs: 200 })
    const { leave } = await enter(gate, 'slow')
    vi.advanceTimersByTime(60)
    expect(Math.max(...(await turnedAway(gate, 50)))).toBe(200)
    leave('answered')
    vi.advanceTimersByTime(200)
    await enter(gate, 'slow')
    expect((await turnedAway(gate, 1))[0]).toBe(60)
  })
})

describe('an endpoint that answers', () => {
  /** Attempts of endpoints that answer nobody, of both kinds, as many as they get. */
  const hang = async (gate: Gate, ids: string[], origin?: string): Promise<void> => {
    for (const id of ids) for (const kind of ['first', 'retry'] as const) await enterAll(gate, id, kind, origin)
  }
  const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `hanging-${n}`)

  it.each([13, 200])('has places beside %i that hang on the same host', async (count) => {
    const gate = usualGate()
    const host = 'http://shared'
    ;(await enter(gate, 'good', 'first', host)).leave('answered')
    await hang(gate, names(count), host)
    const places = await enterAll(gate, 'good', 'first', host)
    expect(places.length).toBeGreaterThanOrEqual(8)
    expect((await admit(gate, 'good', 'retry', host)).kind).toBe('go')
  })

  it('has a place beside 13 that hang on its host, although nothing is known of it', async () => {
    const gate = usualGate()
    await hang(gate, names(13), 'http://shared')
    const first = await enter(gate, 'new', 'first', 'http://shared')
    first.leave('answered')
    expect((await enterAll(gate, 'new', 'first', 'http://shared')).length).toBeGreaterThanOrEqual(8)
  })

  it.each([50, 500])('has places beside %i that hang on hosts of their own', async (count) => {
    const gate = usualGate()
    ;(await enter(gate, 'good')).leave('answered')
    await hang(gate, names(count))
    expect((await enterAll(gate, 'good')).length).toBeGreaterThanOrEqual(8)
    expect((await admit(gate, 'good', 'retry')).kind).toBe('go')
  })

  it('leaves places of its host to others', async () => {
    const gate = createGate({ ...usual, first: { ...usual.first, ...noLine, start: 200, most: 200 } })
    ;(await enter(gate, 'greedy', 'first', 'http://shared')).leave('answered')
    expect(await enterAll(gate, 'greedy', 'first', 'http://shared')).toHaveLength(usual.perOrigin / 2)
    await enter(gate, 'other', 'first', 'http://shared')
  })
})

describe('an endpoint that is down', () => {
  it('gets a probe now and then in place of all attempts, ever more seldom, and the others are told when', async () => {
    const gate = usualGate()
    const made = await bringDown(gate, 'a')
    expect(made).toBeGreaterThan(usual.breaker.maxFailures)
    const since = gate.closedSince('a')?.toISOString() ?? ''
    const pauses: number[] = []
    let probedAt = performance.now()
    for (let n = 0; n < 10; n++) {
      const admission = await admit(gate, 'a')
      const at = new Date(Date.now() + gate.probeInMs('a')).toISOString()
      const reason = `not attempted: the endpoint is down since ${since}, next probe at ${at}`
      expect(admission).toMatchObject({ kind: 'later', reason })
      expect(gate.isShut('a')).toBe(true)
      vi.advanceTimersByTime(gate.probeInMs('a'))
      expect(gate.probeInMs('a')).toBe(0)
      expect(gate.isShut('a')).toBe(false)
      const probe = await enter(gate, 'a')
      expect((await admit(gate, 'a')).kind).toBe('later')
      probe.leave('failed')
      pauses.push(performance.now() - probedAt)
      probedAt = performance.now()
    }
    expect(pauses.slice(1)).toEqual([200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000, 10_000])
    expect(gate.closedSince('a')?.toISOString()).toBe(since)
  })

  it('is forgotten with its address, also where the new one is at the same host', async () => {
    const gate = usualGate()
    const [old, mended] = ['http://a/typo', 'http://a/hook'].map((url) => gatedEndpoint({ id: 'a', url }))
    if (old === undefined || mended === undefined) throw new Error('no endpoints')
    while (gate.closedSince('a') === undefined) {
      const admission = await gate.admit(old, 'retry')
      if (admission.kind === 'go') admission.leave('failed')
      vi.advanceTimersByTime(50)
    }
    expect(gate.isShut('a')).toBe(true)
    gate.forgetMoved(old)
    expect(gate.isShut('a')).toBe(true)
    gate.forgetMoved(mended)
    expect(gate.isShut('a')).toBe(false)
    expect(gate.down()).toEqual([])
    expect((await gate.admit(mended, 'retry')).kind).toBe('go')
    expect((await gate.admit(mended, 'retry')).kind).toBe('go')
  })

  it('gets an attempt that an operator ordered before a probe is due, one at a time', async () => {
    const gate = usualGate()
    await bringDown(gate, 'a')
    expect((await admit(gate, 'a', 'retry')).kind).toBe('later')
    const ordered = await gate.admit(endpoint('a'), 'retry', { isOrdered: true })
    if (ordered.kind === 'later') throw new Error(ordered.reason)
    expect((await gate.admit(endpoint('a'), 'retry', { isOrdered: true })).kind).toBe('later')
    ordered.leave('answered')
    expect(gate.closedSince('a')).toBeUndefined()
  })

  it('is one that hangs, too: as soon as none was answered for twice the time that attempts take', async () => {
    const gate = usualGate()
    const begunAt = Date.now()
    while (gate.closedSince('a') === undefined) {
      expect(Date.now() - begunAt).toBeLessThan(30_000)
      const entered = [...(await enterAll(gate, 'a')), ...(await enterAll(gate, 'a', 'retry'))]
      vi.advanceTimersByTime(timeLimitMs)
      for (const { leave } of entered) leave('failed')
    }
    expect(gate.closedSince('a')).toEqual(new Date(begunAt))
  })

  it('is one that hangs after few attempts, as each keeps a place for long', async () => {
    const gate = usualGate()
    let failed = 0
    while (gate.closedSince('a') === undefined) {
      expect(failed).toBeLessThan(usual.breaker.maxFailures)
      const { leave } = await enter(gate, 'a')
      const beside = await enter(gate, 'a', 'retry')
      vi.advanceTimersByTime(timeLimitMs)
      leave('failed')
      beside.leave('failed')
      failed += 2
    }
    expect(failed).toBeLessThan(10)
    expect(gate.isAnswering('a')).toBe(false)
  })

  it('opens by its first answer, step by step', async () => {
    const gate = usualGate()
    await bringDown(gate, 'a')
    vi.advanceTimersByTime(gate.probeInMs('a'))
    ;(await enter(gate, 'a')).leave('answered')
    expect(gate.closedSince('a')).toBeUndefined()
    expect(gate.probeInMs('a')).toBe(0)
    for (const sideBySide of [1, 2, 4, 8, 16, 32, 64]) {
      const entered = await enterAll(gate, 'a')
      expect(entered).toHaveLength(sideBySide)
      for (const { leave } of entered) leave('answered')
    }
  })

  it('takes what waits at its new pace once it answers, however long attempts took while it was down', async () => {
    const gate = usualGate()
    while (gate.closedSince('a') === undefined) {
      const together = await enterAll(gate, 'a', 'retry')
      vi.advanceTimersByTime(timeLimitMs)
      for (const { leave } of together) leave('failed')
    }
    for (let n = 0; n < 100; n++) await admit(gate, 'a', 'retry')
    vi.advanceTimersByTime(gate.probeInMs('a'))
    expect(await attempt(gate, 'a', 'answered', 20)).toBe(true)
    await enterAll(gate, 'a', 'retry')
    for (let n = 0; n < 16; n++)
      expect(await admit(gate, 'a', 'retry')).toMatchObject({
        inMs: expect.toSatisfy((ms: number) => ms <= 1_000) as unknown,
      })
  })

  it('opens by the answer to an attempt that began before it was down', async () => {
    const gate = usualGate()
    const slow = await enter(gate, 'a')
    await bringDown(gate, 'a')
    slow.leave('answered')
    expect(gate.closedSince('a')).toBeUndefined()
  })

  it('is probed at once by another when a probe is not made', async () => {
    const gate = usualGate()
    await bringDown(gate, 'a')
    vi.advanceTimersByTime(gate.probeInMs('a'))
    ;(await enter(gate, 'a')).leave('unused')
    await enter(gate, 'a')
    expect((await admit(gate, 'a')).kind).toBe('later')
  })

  it('keeps nobody in line when it is found to be down', async () => {
    const gate = createGate({ ...usual, first: { ...usual.first, ...longLine, start: 1 } })
    await enter(gate, 'a')
    const waits = admit(gate, 'a')
    await bringDown(gate, 'a')
    expect(await waits).toMatchObject({ kind: 'later', reason: expect.stringContaining('is down since') as string })
  })

  it('tells one to come for the next probe, and the others behind it', async () => {
    const gate = usualGate()
    await bringDown(gate, 'a')
    const told = async () => {
      const admission = await admit(gate, 'a')
      return admission.kind === 'later' ? admission.inMs : 0
    }
    const probeInMs = gate.probeInMs('a')
    expect([await told(), await told(), await told()]).toEqual([probeInMs, probeInMs + 50, probeInMs + 100])
    vi.advanceTimersByTime(probeInMs)
    const probe = await enter(gate, 'a')
    vi.advanceTimersByTime(50)
    // The next probe is one pause away from the end of this one at least.
    expect(await told()).toBe(gate.probeInMs('a'))
    expect(await told()).toBeGreaterThan(gate.probeInMs('a'))
    probe.leave('answered')
    await enter(gate, 'a')
  })

  it('lets those that wait for it come the more seldom, the more endpoints are down', async () => {
    const gate = usualGate()
    const gapAt = async (id: string) => {
      const told = []
      for (let n = 0; n < 3; n++) {
        const admission = await admit(gate, id)
        told.push(admission.kind === 'later' ? admission.inMs : 0)
      }
      return (told[2] ?? 0) - (told[1] ?? 0)
    }
    const ids = Array.from({ length: 100 }, (_, n) => `down-${n}`)
    for (const id of ids.slice(0, 10)) await bringDown(gate, id)
    expect(await gapAt(ids[9] ?? '')).toBe(500)
    for (const id of ids.slice(10)) await bringDown(gate, id)
    expect(await gapAt(ids[99] ?? '')).toBe(2_000)
    for (const id of ids.slice(1)) {
      vi.advanceTimersByTime(gate.probeInMs(id))
      ;(await enter(gate, id)).leave('answered')
    }
    ;(await enter(gate, ids[0] ?? '')).leave('failed')
    expect(await gapAt(ids[0] ?? '')).toBe(50)
  })

  it('is probed the more seldom, the longer attempts at it take', async () => {
    const gate = usualGate()
    for (let n = 0; n < 10 && gate.closedSince('a') === undefined; n++) await attempt(gate, 'a', 'failed', timeLimitMs)
    expect(gate.probeInMs('a')).toBe(timeLimitMs)
  })

  it('says so to those that come again one after the other, and not for longer than set', async () => {
    const gate = createGate(gateBounds({ ...retry, maxMs: 10_000 }))
    await bringDown(gate, 'a')
    const told = new Set<number>()
    for (let n = 0; n < 1_000; n++) {
      const admission = await admit(gate, 'a')
      told.add(admission.kind === 'later' ? admission.inMs : 0)
    }
    expect(told.size).toBeGreaterThan(100)
    expect(Math.max(...told)).toBe(10_000)
  })
})

describe('the breaker stays open', () => {
  it('for one delivery that goes on trying alone, for as long as it does', async () => {
    const gate = usualGate()
    for (let n = 0; n < 200; n++) {
      expect(await attempt(gate, 'a', 'failed', n % 2 === 0 ? timeLimitMs : 1)).toBe(true)
      vi.advanceTimersByTime(retry.initialMs / 2)
    }
    expect(gate.closedSince('a')).toBeUndefined()
  })

  it('for the last delivery that waits for an endpoint that is down: it is turned away by nobody', async () => {
    const gate = usualGate()
    await bringDown(gate, 'a')
    for (let n = 0; n < 50; n++) {
      vi.advanceTimersByTime(retry.initialMs / 2)
      expect(await attempt(gate, 'a', 'failed')).toBe(true)
    }
  })

  it('for an endpoint that answers one in ten', async () => {
    const gate = usualGate()
    for (let n = 1; n <= 500; n++) {
      expect(await attempt(gate, 'a', n % 10 === 0 ? 'answered' : 'failed')).toBe(true)
      vi.advanceTimersByTime(200)
    }
  })

  it('for an endpoint that refuses all for a moment', async () => {
    const gate = usualGate()
    for (let n = 0; n < 50; n++) await attempt(gate, 'a', 'failed', 1)
    expect(gate.closedSince('a')).toBeUndefined()
  })

  it('for attempts that were not made', async () => {
    const gate = usualGate()
    for (let n = 0; n < 100; n++) {
      await attempt(gate, 'a', 'unused')
      vi.advanceTimersByTime(50)
    }
    expect(gate.closedSince('a')).toBeUndefined()
  })
})
