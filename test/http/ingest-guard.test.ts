import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../support/wait.ts'
import { basic, lonelyKey, post, startIngest, type IngestServer } from './ingest-server.ts'

let server: IngestServer | undefined
afterEach(() => server?.app.close())

const start = async (options: Parameters<typeof startIngest>[0]): Promise<string> => {
  server = await startIngest(options)
  return `${server.url}/v1`
}

const call = { userId: 'u', event: 'E' }
const batchOf = (events: number) => ({ batch: Array.from({ length: events }, () => ({ type: 'track', ...call })) })

describe('a write key', () => {
  it('is answered 429 beyond its rate, alone, until Retry-After is over', async () => {
    // One event uses up what is taken in a minute.
    const url = await start({ maxEventsPerSource: 1 / 60 })
    expect((await post(`${url}/track`, call)).status).toBe(200)
    const refused = await post(`${url}/track`, call)
    expect([refused.status, refused.body.code]).toEqual([429, 'too_many_requests'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(30)
    expect((await post(`${url}/track`, call, { authorization: basic(lonelyKey) })).status).toBe(200)
    expect(server?.port.events).toHaveLength(1)
  })

  it('is taken again once the rate allows it', async () => {
    const url = await start({ maxEventsPerSource: 1 })
    await post(`${url}/track`, call)
    await until('it is taken again', async () => (await post(`${url}/track`, call)).status === 200)
  })

  it('pays for each event of a batch', async () => {
    const url = await start({ maxEventsPerSource: 10 })
    expect((await post(`${url}/batch`, batchOf(2_000))).status).toBe(200)
    const refused = await post(`${url}/batch`, batchOf(1))
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(100)
    expect(server?.port.events).toHaveLength(2_000)
  })
})

describe('an address', () => {
  const statuses = async (url: string, times: number, headersOf: (index: number) => Record<string, string>) => {
    const answers = Array.from({ length: times }, (_, index) => post(`${url}/track`, call, headersOf(index)))
    return (await Promise.all(answers)).map(({ status }) => status)
  }
  const forwarded = (index: number) => ({ 'x-forwarded-for': `192.0.2.${index + 1}` })

  it('is answered 429 beyond its rate, whatever write key and address it names', async () => {
    const url = await start({ maxRequestsPerAddress: 1 })
    // In several seconds, some of 100 come in the same one.
    expect(
      await statuses(url, 100, (index) => ({ ...forwarded(index), authorization: basic(`wk_${index}`) })),
    ).toContain(429)
    let refused = await post(`${url}/track`, call)
    await until('one is refused', async () => (refused = await post(`${url}/track`, call)).status === 429)
    expect(refused.body.code).toBe('too_many_requests')
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(refused.headers.get('x-ratelimit-limit')).toBeNull()
  })

  it('is the one that a trusted proxy names', async () => {
    const url = await start({ maxRequestsPerAddress: 1, trustProxy: ['127.0.0.1/32'] })
    expect(new Set(await statuses(url, 100, forwarded))).toEqual(new Set([200]))
  })
})

/** Gives what nobody holds any more back to the system. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
}

describe('a node that is short of memory', () => {
  it.each(['heapBytes', 'residentBytes'] as const)(
    'takes no events, by its %s, and says when to come again',
    async (bound) => {
      const memory = { heapBytes: 1e15, residentBytes: 1e15, [bound]: 1 }
      const url = await start({ memory })
      await until('it is measured', async () => (await post(`${url}/track`, call)).status === 503)
      const refused = await post(`${url}/track`, call)
      expect([refused.status, refused.body.code]).toEqual([503, 'unavailable'])
      expect(refused.headers.get('retry-after')).toBe('10')
    },
  )

  it('takes events again once memory is free', async () => {
    const megabyte = 1_048_576
    const residentBytes = process.memoryUsage().rss + 150 * megabyte
    const url = await start({ memory: { heapBytes: 1e15, residentBytes } })
    const status = async (): Promise<number> => (await post(`${url}/track`, call)).status
    const ballast = [Buffer.alloc(300 * megabyte, 1)]
    await until('it is short of memory', async () => (await status()) === 503)
    ballast.pop()
    collectGarbage()
    await until('it takes events', async () => (await status()) === 200)
  })

  it('is not one that has nine tenths left', async () => {
    const url = await start({})
    // Memory is measured after a second, and in each one that follows.
    const end = performance.now() + 1_500
    await until('it was measured', () => performance.now() > end)
    expect((await post(`${url}/track`, call)).status).toBe(200)
  })
})
