import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventWorkflowId, redeliveryWorkflowId } from '../../src/contracts/names.ts'
import { createNamesInTemporal, type NamesInTemporal } from '../../src/temporal/names-in-temporal.ts'

const hour = 3_600_000
const key = Buffer.alloc(32, 5)

function namesOf({ beginsInMs = -hour, hasPlain = false } = {}): NamesInTemporal {
  const names = createNamesInTemporal()
  names.use({ key, beginsAt: new Date(Date.now() + beginsInMs), hasPlain })
  return names
}

const hashOf = (text: string): string => `~${createHmac('sha256', key).update(text).digest('base64url').slice(0, 24)}`

describe('a name that a caller gave', () => {
  it('stands in Temporal as a keyed hash, in attributes and in ids, whatever it is made of', () => {
    const names = namesOf()
    expect(names.values('user', 'u1')).toEqual([hashOf('user\nu1')])
    expect(names.value('event', 'x'.repeat(10_000))).toMatch(/^~[\w-]{24}$/)
    const hash = hashOf('message\nm/1')
    expect(names.workflowIds('event/src_1/m/1')).toEqual([`event/src_1/${hash}`])
    expect(names.workflowId('event/src_1/m/1/redelivery/3')).toBe(`event/src_1/${hash}/redelivery/3`)
    expect(names.workflowId('delete/del_1/src_1/anna')).toBe(`delete/del_1/src_1/${hashOf('message\nanna')}`)
    expect(names.workflowId('parcel/1/2')).toBe('parcel/1/2')
    expect(names.value('message', 'm')).not.toBe(names.value('user', 'm'))
  })

  it('gives no two deliveries one workflow, and an id that Temporal shows stands for itself', () => {
    const names = namesOf()
    const parts = fc.constantFrom('redelivery', '/', '~', '%7E', '%2F', '1', hashOf('message\nm'), 'm', '\n')
    const messageIds = fc.array(parts, { minLength: 1, maxLength: 5 }).map((some) => some.join(''))
    fc.assert(
      fc.property(messageIds, messageIds, fc.integer({ min: 0, max: 12 }), (one, other, n) => {
        const idOf = (messageId: string): string => {
          const id = eventWorkflowId('src_1', messageId)
          return names.workflowId(n === 0 ? id : redeliveryWorkflowId(id, n))
        }
        expect(names.workflowId(idOf(one))).toBe(idOf(one))
        expect(idOf(one)).toMatch(/^event\/src_1\/~[\w-]{24}(\/redelivery\/\d+)?$/)
        if (one !== other) expect(idOf(other)).not.toBe(idOf(one))
      }),
      { numRuns: 3_000 },
    )
  })

  it('is found as a message by the id of its workflow, or the end of that', () => {
    const names = namesOf()
    const hash = names.value('message', 'm1')
    for (const given of [hash, `event/src_1/${hash}`, `event/src_1/${hash}/redelivery/2`])
      expect(names.values('message', given)).toContain(hash)
  })
})

describe('after an upgrade', () => {
  it('is looked for in the form of before, too, until none is left', () => {
    const names = namesOf({ hasPlain: true })
    const hash = hashOf('message\nm1')
    expect(names.workflowIds('event/src_1/m1')).toEqual([`event/src_1/${hash}`, 'event/src_1/m1'])
    expect(names.values('user', `o'neill`)).toEqual([hashOf(`user\no'neill`), 'o%27neill'])
    expect(names.mayHavePlainLeft()).toBe(true)
    names.noteNoPlain()
    expect(names.workflowIds('event/src_1/m1')).toEqual([`event/src_1/${hash}`])
    expect(names.mayHavePlainLeft()).toBe(false)
  })

  it('stands as before for a while, in which nodes of the version before may run', () => {
    const names = namesOf({ hasPlain: true, beginsInMs: hour })
    expect(names.workflowId('event/src_1/m1')).toBe('event/src_1/m1')
    expect(names.value('user', 'u1')).toBe('u1')
    expect(names.values('user', 'u1')).toEqual(['u1', hashOf('user\nu1')])
    expect(names.mayHavePlainLeft()).toBe(false)
  })
})
