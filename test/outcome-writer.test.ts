import { expect, it, vi } from 'vitest'
import { createOutcomeWriter } from '../activities/outcome-writer.ts'
import type { ParcelRecord } from '../src/db/parcel-progress.ts'

const recordOf = (parcelId: string): ParcelRecord => ({ parcelId, progress: [] })

function recorded() {
  const statements: string[][] = []
  const writer = createOutcomeWriter((records) => {
    statements.push(records.map(({ parcelId }) => parcelId))
    return Promise.resolve()
  })
  return { statements, writer }
}

it('writes the outcomes of all rounds in one statement, soon after the first', async () => {
  const { statements, writer } = recorded()
  await Promise.all(['a', 'b', 'c'].map((id) => writer.writeSoon(() => recordOf(id))))
  await writer.writeSoon(() => recordOf('d'))
  expect(statements).toEqual([['a', 'b', 'c'], ['d']])
})

it('writes with an account that does not wait what waits', async () => {
  const { statements, writer } = recorded()
  const soon = writer.writeSoon(() => recordOf('waits'))
  await writer.write(recordOf('at once'))
  await soon
  expect(statements).toEqual([['at once', 'waits']])
})

it('takes an account when its statement begins: what came while it waited for another one is in it', async () => {
  const ends: (() => void)[] = []
  const writer = createOutcomeWriter(() => new Promise((resolve) => ends.push(resolve)))
  const first = writer.write(recordOf('first'))
  await vi.waitFor(() => expect(ends).toHaveLength(1))
  const take = vi.fn(() => recordOf('second'))
  const second = writer.writeSoon(take)
  writer.hurry()
  expect(take).not.toHaveBeenCalled()
  ends[0]?.()
  await first
  await vi.waitFor(() => expect(ends).toHaveLength(2))
  expect(take).toHaveBeenCalledOnce()
  ends[1]?.()
  await second
})

it('fails for an account whose statement fails, and goes on with the next', async () => {
  const write = vi.fn(() => Promise.resolve()).mockRejectedValueOnce(new Error('the database is away'))
  const writer = createOutcomeWriter(write)
  await expect(writer.writeSoon(() => recordOf('a'))).rejects.toThrow('the database is away')
  await expect(writer.writeSoon(() => recordOf('a'))).resolves.toBeUndefined()
})
