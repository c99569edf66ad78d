import { pino } from 'pino'
import { expect, it } from 'vitest'
import { createFirstOutcomes, maxWaiting } from '../../src/delivery-log/first-outcomes.ts'
import { AppError } from '../../src/errors.ts'
import type { DeliveryDetail } from '../../src/schemas/delivery.ts'

const logger = pino({ level: 'silent' })
const longMs = 3_600_000
const unending = new AbortController().signal
const standing = (status: string) => ({ status, attempts: 1 }) as DeliveryDetail

it('lets so many callers wait, and tells one more nothing until one of them is gone', async () => {
  const find = createFirstOutcomes({ read: () => new Promise(() => undefined), logger })
  const gone = new AbortController()
  const leaving = find('first', longMs, gone.signal)
  for (let n = 1; n < maxWaiting; n++) void find(`waits-${n}`, longMs, unending)
  expect(await find('beyond', longMs, unending)).toBeUndefined()
  gone.abort()
  expect(await leaving).toBeUndefined()
  const late = new AbortController()
  const taken = find('late', longMs, late.signal)
  expect(await find('beyond', longMs, unending)).toBeUndefined()
  late.abort()
  expect(await taken).toBeUndefined()
})

it('looks on while the delivery is on its way, is between the inbox and Temporal, or cannot be read', async () => {
  const answers = [
    () => Promise.resolve(standing('queued')),
    () => Promise.reject(new AppError('not_found', 'no delivery has this id')),
    () => Promise.reject(new Error('Temporal does not answer')),
    () => Promise.resolve(standing('delivering')),
    () => Promise.resolve(standing('retrying')),
  ]
  const read = () => answers.shift()?.() ?? Promise.reject(new Error('it looked once more'))
  const find = createFirstOutcomes({ read, logger })
  expect(await find('event', longMs, unending)).toEqual({ status: 'retrying', deliveryId: 'event', attempts: 1 })
})

it('tells what it last knew when the time is over', async () => {
  const find = createFirstOutcomes({ read: () => Promise.resolve(standing('queued')), logger })
  expect(await find('event', 100, unending)).toMatchObject({ status: 'queued' })
})
