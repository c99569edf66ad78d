import { expect, it } from 'vitest'
import type { Attempt } from '../../src/contracts/delivery.ts'
import type { Database } from '../../src/db/database.ts'
import { findLateAttempts } from '../../src/delivery-log/late-attempts.ts'

const attempt = (second: number): Attempt => ({
  endpointId: 'ep_1',
  url: 'https://example.com/hook',
  at: new Date(second * 1_000).toISOString(),
  durationMs: 5,
  status: 200,
})

/** Adds late attempts to a delivery. */
const added = (late: Attempt[], delivery: { attempts: number; made: Attempt[] }) => {
  const query = () => Promise.resolve(late.map((one) => ({ attempt: one })))
  const names = { workflowId: (id: string) => id, workflowIds: (id: string) => [id] }
  return findLateAttempts({ database: { query } as unknown as Database, names }).added('event/src_1/m1', delivery)
}

it('shows each late attempt once, oldest first', async () => {
  const [first, second, third] = [attempt(1), attempt(2), attempt(3)]
  const delivery = await added([second, third], { attempts: 2, made: [first, third] })
  expect(delivery).toEqual({ attempts: 3, made: [first, second, third] })
})

it('counts none twice that was counted, and of which nothing was told', async () => {
  expect(await added([attempt(1)], { attempts: 1, made: [] })).toEqual({ attempts: 1, made: [attempt(1)] })
  expect(await added([attempt(1)], { attempts: 12, made: [attempt(2)] })).toMatchObject({ attempts: 12 })
})

it('leaves a delivery without late attempts as it is', async () => {
  const delivery = { attempts: 1, made: [] }
  expect(await added([], delivery)).toBe(delivery)
})
