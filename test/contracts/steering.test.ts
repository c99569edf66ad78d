import { expect, it } from 'vitest'
import { noteFailure, type SteeringFailure } from '../../src/contracts/steering.ts'

it('keeps ten reasons at most, and counts every failure', () => {
  const failures: SteeringFailure[] = []
  for (let n = 0; n < 30; n++) noteFailure(failures, `reason ${n % 15}`)
  expect(failures).toEqual([
    ...Array.from({ length: 9 }, (_, n) => ({ reason: `reason ${n}`, count: 2 })),
    { reason: 'other reasons', count: 12 },
  ])
})
