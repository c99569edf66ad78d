import { describe, expect, it } from 'vitest'
import { createTurns } from '../../src/delivery/turns.ts'

describe('turns', () => {
  it('are bounded for each endpoint on its own and come back when released', () => {
    const turns = createTurns({ perEndpoint: 2 })
    const first = turns.tryTake('a')
    const second = turns.tryTake('a')
    expect([first, second]).toEqual([expect.any(Function), expect.any(Function)])
    expect(turns.tryTake('a')).toBeUndefined()
    expect(turns.tryTake('b')).toBeTypeOf('function')
    first?.()
    expect(turns.tryTake('a')).toBeTypeOf('function')
    expect(turns.tryTake('a')).toBeUndefined()
  })

  it('come back once, however often they are released', () => {
    const turns = createTurns({ perEndpoint: 1 })
    const release = turns.tryTake('a')
    release?.()
    expect(turns.tryTake('a')).toBeTypeOf('function')
    release?.()
    expect(turns.tryTake('a')).toBeUndefined()
  })
})
