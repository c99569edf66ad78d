import { rm } from 'node:fs/promises'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import { maskSecrets } from '../../src/access/mask.ts'
import { readClaims, sessionKeys, writeClaims } from '../../src/access/session.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { createTokenStore } from '../../src/db/tokens.ts'
import { createLiveEvents } from '../../src/live/live-events.ts'
import {
  bucketOf,
  emptyBuckets,
  emptySlowBuckets,
  percentile,
  slowBucketOf,
} from '../../src/observation/latency-buckets.ts'
import { makeDataFolder } from '../support/app.ts'
import { until } from '../support/wait.ts'

describe('masking', () => {
  it('masks secrets at any depth, keeps names of headers, and leaves data of the caller alone', () => {
    const traits = { token: 'mine', headers: { a: 'b' } }
    expect(
      maskSecrets({
        items: [
          {
            writeKey: 'k',
            settings: {
              sharedSecret: 's',
              webhooks: [{ url: 'u', headers: { A: 'b', 'X-Signature': 'f0', 'User-Agent': 'P' } }],
            },
          },
        ],
        token: null,
        message: { traits, token: 'mine' },
        members: [{ traits }],
      }),
    ).toEqual({
      items: [
        {
          writeKey: '********',
          settings: {
            sharedSecret: '********',
            webhooks: [{ url: 'u', headers: { A: '********', 'X-Signature': '********', 'User-Agent': 'P' } }],
          },
        },
      ],
      token: null,
      message: { traits, token: 'mine' },
      members: [{ traits }],
    })
  })
})

describe('sessions', () => {
  it('are over at their time', () => {
    const claims = writeClaims({ tokenId: null, expiresAt: 1_000 })
    expect(readClaims(claims, 999)).toEqual({ tokenId: null, expiresAt: 1_000 })
    expect(readClaims(claims, 1_000)).toBeUndefined()
  })

  it('have keys that follow the key ring and the admin token', () => {
    const [older, newer] = [{ key: Buffer.alloc(32, 1) }, { key: Buffer.alloc(32, 2) }]
    const before = sessionKeys([older], 'token')
    expect(sessionKeys([newer, older], 'token')[1]).toEqual(before[0])
    expect(sessionKeys([older], 'another')[0]).not.toEqual(before[0])
    expect(before[0]).not.toEqual(older.key)
  })
})

describe('percentiles', () => {
  it('are exact to a bucket, and none without figures', () => {
    expect(percentile(emptyBuckets(), 0.5)).toBeNull()
    const counts = emptyBuckets()
    const add = (latencyMs: number, times: number): void => {
      counts[bucketOf(latencyMs)] = (counts[bucketOf(latencyMs)] ?? 0) + times
    }
    add(15, 90)
    add(700, 9)
    add(99_000_000, 1)
    expect(percentile(counts, 0.5)).toBeGreaterThan(10)
    expect(percentile(counts, 0.5)).toBeLessThanOrEqual(20)
    expect(percentile(counts, 0.95)).toBeGreaterThan(500)
    expect(percentile(counts, 0.95)).toBeLessThanOrEqual(1_000)
    expect(percentile(counts, 1)).toBe(14_400_000)
  })

  /** Counts of one latency, as this version has them and as an earlier one. */
  const countsOf = (latencyMs: number, times = 1) => {
    const [counts, slow] = [emptyBuckets(), emptySlowBuckets()]
    counts[bucketOf(latencyMs)] = times
    const bucket = slowBucketOf(latencyMs)
    if (bucket !== undefined) slow[bucket] = times
    return { counts, slow }
  }

  it('tell latencies from ten seconds to three days to half of their size', () => {
    for (let latencyMs = 10_001; latencyMs <= 72 * 3_600_000; latencyMs *= 1.07) {
      const { counts, slow } = countsOf(latencyMs)
      for (const share of [0.5, 0.95, 1]) {
        const told = percentile(counts, share, slow) ?? NaN
        expect(told, `${latencyMs} ms`).toBeGreaterThanOrEqual(latencyMs / 1.5)
        expect(told, `${latencyMs} ms`).toBeLessThanOrEqual(latencyMs * 1.5)
      }
    }
    const { counts, slow } = countsOf(100_000)
    expect(percentile(counts, 0.5, slow)).toBe(105_000)
    const longer = countsOf(100 * 3_600_000)
    expect(percentile(longer.counts, 0.5, longer.slow)).toBe(72 * 3_600_000)
  })

  it('spread over finer buckets what only an earlier version counted', () => {
    const sum = (one: number[], other: number[]): number[] => one.map((count, index) => count + (other[index] ?? 0))
    const [known, earlier] = [countsOf(100_000, 24), countsOf(250_000, 24)]
    const counts = sum(known.counts, earlier.counts)
    // 3 count as 60 to 90 s, 27 as 90 to 120 s, and 6 each as up to 180, 240 and 300 s.
    expect(percentile(counts, 33 / 48, known.slow)).toBe(150_000)
    expect(percentile(counts, 1, known.slow)).toBe(300_000)
    expect(percentile(countsOf(20 * 3_600_000).counts, 1, emptySlowBuckets())).toBe(4 * 3_600_000)
  })
})

describe('live events', () => {
  const event = {
    at: new Date().toISOString(),
    type: 'track',
    event: null,
    userId: null,
    messageId: null,
    fate: 'accepted',
  } as const

  it('cost nothing while nobody watches, and say how many a slow watcher missed', async () => {
    const live = createLiveEvents()
    expect(live.sink('src')).toBeUndefined()
    const watcher = live.watch('src')
    expect(live.sink('other')).toBeUndefined()
    for (let i = 0; i < 1_005; i++) live.sink('src')?.(event)
    const batch = await watcher?.next(0)
    expect([batch?.events.length, batch?.dropped]).toEqual([1_000, 5])
    expect(await watcher?.next(0)).toEqual({ events: [], dropped: 0 })
    watcher?.close()
    expect(await watcher?.next(60_000)).toBeUndefined()
    expect(live.sink('src')).toBeUndefined()
  })
})

describe('API tokens on several nodes', () => {
  it('work at once on another node, and stop there soon', async () => {
    const logger = pino({ level: 'error' })
    const folder = await makeDataFolder()
    const database = await openPglite(`${folder}/pglite`, logger)
    try {
      const [here, there] = [createTokenStore(database, logger), createTokenStore(database, logger)]
      const { id, token } = await here.create({ name: 'shared', role: 'viewer' })
      expect(await there.findByToken(token)).toMatchObject({ id, role: 'viewer' })
      await here.revoke(id)
      expect(await here.findByToken(token)).toBeUndefined()
      await until('the other node sees it', async () => (await there.findByToken(token)) === undefined)
    } finally {
      await database.close()
      await rm(folder, { recursive: true, force: true })
    }
  })
})
