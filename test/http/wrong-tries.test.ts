/** Wrong tokens that come at the same moment, and from many addresses, on a server that has nothing else to do. */

import rateLimit from '@fastify/rate-limit'
import fastify from 'fastify'
import { expect, it } from 'vitest'
import { countWrongTries, type WrongTries } from '../../src/http/management/wrong-tries.ts'

/** Counts `guesses` that are all known to be wrong at one moment, as those are which waited for the same look at the tokens.
 *  @returns codes of the answers, and what was told of refused sign-ins */
async function guessAtOnce(
  guesses: { from: string }[],
  count: (
    wrongTries: WrongTries,
    ...[request, index]: [Parameters<WrongTries['ofSignIn']>[0], number]
  ) => Promise<{ code: string }>,
) {
  const app = fastify()
  await app.register(rateLimit, { global: false })
  const told: [address: string, tries: number][] = []
  const wrongTries = countWrongTries(app, { refusedSignIn: (...refused) => told.push(refused) })
  const waiting: (() => void)[] = []
  app.post('/', async (request) => {
    const index = waiting.length
    await new Promise<void>((resolve) => {
      waiting.push(resolve)
      if (waiting.length === guesses.length) for (const goOn of waiting) goOn()
    })
    return { code: (await count(wrongTries, request, index)).code }
  })
  const answers = await Promise.all(
    guesses.map(({ from }) => app.inject({ method: 'POST', url: '/', remoteAddress: from })),
  )
  await app.close()
  return { codes: answers.map((answer) => answer.json<{ code: string }>().code), told }
}

const times = (count: number, code: string): string[] => Array.from({ length: count }, () => code)
const fromOne = (count: number) => Array.from({ length: count }, () => ({ from: '192.0.2.1' }))

it('each of them at sign-in has a count of its own, and the first and the last before the wait are told', async () => {
  const { codes, told } = await guessAtOnce(fromOne(40), (wrongTries, request) => wrongTries.ofSignIn(request))
  expect(codes).toEqual([...times(10, 'unauthorized'), ...times(30, 'too_many_requests')])
  expect(told).toEqual([
    ['192.0.2.1', 1],
    ['192.0.2.1', 10],
  ])
})

it('each different bearer token has a count of its own, and the same one none', async () => {
  const { codes } = await guessAtOnce(fromOne(40), (wrongTries, request, index) =>
    wrongTries.ofBearer(request, `guess ${Math.floor(index / 2)}`),
  )
  expect(codes).toEqual(times(40, 'unauthorized'))
  const different = await guessAtOnce(fromOne(40), (wrongTries, request, index) =>
    wrongTries.ofBearer(request, `guess ${index}`),
  )
  expect(different.codes).toEqual([...times(20, 'unauthorized'), ...times(20, 'too_many_requests')])
})

it('from many addresses no more than 20 sign-ins a minute are told', async () => {
  const addresses = Array.from({ length: 60 }, (_, index) => ({ from: `198.51.100.${index}` }))
  const { codes, told } = await guessAtOnce(addresses, (wrongTries, request) => wrongTries.ofSignIn(request))
  expect(codes).toEqual(times(60, 'unauthorized'))
  expect(told).toEqual(addresses.slice(0, 20).map(({ from }) => [from, 1]))
})
