/** Symptom: a graceful stop took 5 to 14 s at 40 events a second.
 *  Cause: attempts went on beginning while the requests of callers were finished, and what does not depend on each other was
 *  stopped one after the other.
 *  Consequence: a service manager that waits less ends the node hard, and the attempts under way are made again. */

import { rm } from 'node:fs/promises'
import { delimiter, dirname } from 'node:path'
import { expect, inject, it } from 'vitest'
import type { Source } from '../../src/schemas/source.ts'
import { readNote } from '../../src/temporal/server-process.ts'
import { createInstallation } from '../chaos/installation.ts'
import { startLoad } from '../chaos/load.ts'
import { startReceiver } from '../support/receiver.ts'
import { makeServerFolder } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

/** What is under way at the stop ends in half of this; a loaded machine may take longer. */
const stopLimitMs = 25_000
const settleLimitMs = 120_000

it(
  'a graceful stop under load lets attempts end, leaves nothing behind and repeats nothing',
  { timeout: 300_000 },
  async () => {
    const dataDir = await makeServerFolder()
    const installation = await createInstallation({
      dataDir,
      postgres: undefined,
      environment: { PATH: [dirname(inject('temporalCli')), process.env['PATH']].join(delimiter) },
    })
    await using receiver = await startReceiver()
    // Slow enough that attempts are under way at any moment.
    receiver.answer({ delayMs: 150 })
    const taken = (): string[] =>
      receiver.requests.map(({ body }) => (JSON.parse(String(body)) as { messageId: string }).messageId)
    try {
      await installation.start()
      const source = await installation.api<Source>('/sources', { name: 'Load' })
      await installation.api('/destinations', {
        name: 'Slow',
        type: 'webhooks',
        sourceIds: [source.id],
        settings: { webhooks: [{ url: receiver.url }] },
      })
      const load = startLoad({ url: installation.url, sources: [source], eventsPerSecond: 40 })
      await receiver.received(40, settleLimitMs)
      const stopMs = await installation.stop()
      await load.stop()
      expect(stopMs).toBeLessThan(stopLimitMs)
      expect(await readNote(dataDir)).toBeUndefined()
      expect(receiver.requests.filter(({ isAbandoned }) => isAbandoned)).toEqual([])

      await installation.start()
      const { acknowledged } = load
      await until(
        'all that was acknowledged has arrived',
        () => {
          const arrived = new Set(taken())
          return [...acknowledged.keys()].every((id) => arrived.has(id))
        },
        settleLimitMs,
      )
      // A second stop ends what may still be under way, so that a late repeat would be seen.
      await installation.stop()
      expect(acknowledged.size).toBeGreaterThanOrEqual(40)
      expect(taken().length).toBe(new Set(taken()).size)
    } finally {
      await installation.end()
      await rm(dataDir, { recursive: true, force: true })
    }
  },
)
