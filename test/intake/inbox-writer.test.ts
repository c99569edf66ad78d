import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, it, onTestFinished } from 'vitest'
import type { NewInboxEvent } from '../../src/db/inbox.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { createInboxTurns } from '../../src/intake/inbox-turns.ts'
import { createInboxWriter } from '../../src/intake/inbox-writer.ts'
import { makeDataFolder } from '../support/app.ts'

const events = (name: string, count: number): NewInboxEvent[] =>
  Array.from({ length: count }, (_, index) => {
    const messageId = `${name}-${index}`
    return {
      receivedAt: new Date(),
      input: {
        sourceId: 'src',
        messageId,
        message: { version: 1, type: 'track', messageId, timestamp: '', context: {} },
        targets: [],
        retry: { windowMs: 1, initialMs: 1, maxMs: 1 },
      },
    }
  })

it('takes what fits of a group in order of arrival, and refuses only what does not', async () => {
  const folder = await makeDataFolder()
  const database = await openPglite(join(folder, 'pglite'), pino({ level: 'error' }))
  onTestFinished(async () => {
    await database.close()
    await rm(folder, { recursive: true })
  })
  const inbox = createInboxWriter({
    database,
    inboxMax: 10,
    turns: createInboxTurns(database, () => 'open'),
    draftKeys: () => ({ keys: [], note: () => undefined }),
    onWritten: () => {},
    parcels: undefined,
  })

  const answers = await Promise.allSettled([
    inbox.write(events('fits', 4)),
    inbox.write(events('too many', 7)),
    inbox.write(events('the rest', 6)),
    inbox.write(events('one more', 1)),
  ])
  expect(answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : (answer.reason as unknown)))).toEqual([
    0,
    expect.objectContaining({ code: 'inbox_full' }),
    0,
    expect.objectContaining({ code: 'inbox_full' }),
  ])
  const rows = await database.query<{ message_id: string }>('select message_id from inbox order by seq')
  expect(rows.map(({ message_id: id }) => id)).toEqual(
    [...events('fits', 4), ...events('the rest', 6)].map(({ input }) => input.messageId),
  )
})
