/** Symptom: a node whose PostgreSQL went away just as it started ended with "an unexpected fault: connect ECONNREFUSED".
 *  Cause: the Quickstart, the last step of a start, took a database that is away for a fault, where all steps before wait for it.
 *  Consequence: a restart of both at the same time could leave the node down. */

import { pino } from 'pino'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createDestinationStore } from '../../src/db/destinations.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { createAddressGuard } from '../../src/delivery/guard-address.ts'
import { startQuickstart } from '../../src/quickstart/quickstart.ts'
import { createSecretBox } from '../../src/secrets.ts'
import { watchSettings } from '../../src/settings/settings.ts'
import { findPostgres, startPostgres } from '../support/postgres.ts'

const logger = pino({ level: 'silent' })

describe.skipIf(findPostgres() === undefined)('the Quickstart', { timeout: 60_000 }, () => {
  const setScene = async () => {
    const postgres = await startPostgres()
    const database = openPostgres(await postgres.createDatabase(), logger)
    onTestFinished(async () => {
      await database.close()
      await postgres.stop()
    })
    await migrate(database)
    const secrets = createSecretBox([{ id: 'k1', key: Buffer.alloc(32, 7) }])
    const destinationsIn = (of: typeof database) => createDestinationStore(of, secrets)
    const settings = watchSettings(database, destinationsIn(database), logger)
    onTestFinished(() => settings.close())
    await settings.load()
    const ending = new AbortController()
    const start = () =>
      startQuickstart({
        ...{ database, destinationsIn, settings, port: undefined },
        guard: createAddressGuard(['127.0.0.0/8']),
        onReceived: () => {},
        signal: ending.signal,
      })
    await postgres.halt()
    return { postgres, settings, start, ending }
  }

  it('waits for a database that is away, and is made once', async () => {
    const { postgres, settings, start } = await setScene()
    const starting = start()
    const early = await Promise.race([starting.then(() => 'made'), new Promise((done) => setTimeout(done, 2_500))])
    expect(early).toBeUndefined()
    await postgres.resume()
    const made = await starting
    expect([...settings.sources()].map(({ writeKey }) => writeKey)).toEqual([made?.writeKey])
    await made?.receiver.stop()
  })

  it('waits no longer once the start is ended', async () => {
    const { start, ending } = await setScene()
    const starting = start()
    ending.abort()
    await expect(starting).rejects.toThrow(/abort/i)
  })
})
