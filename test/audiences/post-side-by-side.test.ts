import { expect, it } from 'vitest'
import type { Change } from '../../src/audiences/identify.ts'
import { postSideBySide, type Posted } from '../../src/audiences/post-side-by-side.ts'

const changes: Change[] = Array.from({ length: 40 }, (_, n) => ({
  userId: `u${n}`,
  present: true,
  value: null,
  traits: null,
}))

const unavailable: Posted = { kind: 'unavailable', endpointIds: ['e'] }

/** Posts one call at a time; ten in a row that are unavailable mean that the destination is down.
 *  @param beside  what becomes of every third call; the others are unavailable */
const postAll = (beside: Posted) => {
  let calls = 0
  return postSideBySide(changes, () => Promise.resolve(++calls % 3 === 0 ? beside : unavailable), {
    ...{ concurrency: 1, maxUnavailableInRow: 10, pace: () => undefined, goesOn: () => true },
  })
}

it.each<Posted>([
  { kind: 'withheld' },
  { kind: 'unmade' },
  { kind: 'failed', reason: 'its mapping cannot be applied', isUnasked: true },
])('counts a destination as down though calls between are not made: $kind', async (between) => {
  const { results, isDown } = await postAll(between)
  expect(isDown).toBe(true)
  expect(results.map(({ posted }) => posted.kind).filter((one) => one === 'unavailable')).toHaveLength(10)
})

it.each<Posted>([{ kind: 'sent' }, { kind: 'failed', reason: '404' }])(
  'counts no destination as down that answers between, as $kind',
  async (answer) => {
    const { results, isDown } = await postAll(answer)
    expect({ isDown, calls: results.length }).toEqual({ isDown: false, calls: 40 })
  },
)
