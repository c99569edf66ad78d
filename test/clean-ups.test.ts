import { once } from 'node:events'
import { expect, it } from 'vitest'
import { createCleanUps } from '../src/clean-ups.ts'
import { pino } from 'pino'

it('undoes the last step first, what was added together side by side, and goes on after a failure', async () => {
  const cleanUps = createCleanUps(pino({ level: 'silent' }))
  const done: string[] = []
  const meeting = new AbortController()
  cleanUps.add(() => done.push('first step'))
  cleanUps.add(
    async () => {
      await once(meeting.signal, 'abort')
      done.push('waits for its neighbour')
    },
    () => {
      meeting.abort()
      throw new Error('refused')
    },
  )
  cleanUps.add(() => done.push('last step'))
  await cleanUps.run()
  await cleanUps.run()
  expect(done).toEqual(['last step', 'waits for its neighbour', 'first step'])
})
