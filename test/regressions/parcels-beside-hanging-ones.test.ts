/** Symptom: events of healthy endpoints waited for tens of seconds while a few other endpoints hung.
 *  Cause: the next parcel was started when few events of all parcels before were left, whoever they went to, and the inbox
 *  waited for that: attempts at endpoints that hang kept all others back.
 *  Consequence: parcels wait for those of the same source and destinations alone. */

import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, it, onTestFinished } from 'vitest'
import type { DeliverParcelInput } from '../../src/contracts/parcels.ts'
import { addToInbox, turnIdOf, turnsInInbox } from '../../src/db/inbox.ts'
import { openPglite } from '../../src/db/pglite.ts'
import { createParcelLoad, type LoadOfEvents } from '../../src/delivery/parcel-load.ts'
import { createParcelStarts } from '../../src/intake/start-parcels.ts'
import { makeDataFolder } from '../support/app.ts'
import { until } from '../support/wait.ts'

const retry = { windowMs: 60_000, initialMs: 1_000, maxMs: 1_000 }

const inputOf = (sourceId: string, messageId: string) => ({
  sourceId,
  messageId,
  message: { version: 1 as const, type: 'track' as const, messageId, timestamp: '', context: {} },
  targets: [{ destinationId: `${sourceId}-dst`, endpointIds: [`${sourceId}-ep`], successPolicy: 'any' as const }],
  retry,
})

it('parcels are started while many events of another source are yet to be attempted', async () => {
  const folder = await makeDataFolder()
  const logger = pino({ level: 'error' })
  const database = await openPglite(join(folder, 'pglite'), logger)
  const load = createParcelLoad()
  const underWay: LoadOfEvents[] = []
  const started: string[] = []
  const told: string[] = []
  const starts = createParcelStarts({
    database,
    start: async ({ input: { events } }: { input: DeliverParcelInput }) => {
      const [first] = events
      if (first === undefined) throw new Error('an empty parcel')
      // Its endpoint hangs: none of them is through.
      underWay.push(load.begin(turnIdOf(first), events.length))
      started.push(`${events.length} of ${first.sourceId}`)
      return Promise.resolve('started' as const)
    },
    knownDeliveries: () => Promise.resolve(new Set<string>()),
    isRunning: () => Promise.resolve(false),
    load,
    onMade: () => undefined,
    onRoom: () => told.push('room'),
    isProven: () => true,
    giveWay: () => Promise.resolve(0),
    isOpen: () => true,
    retry,
    count: () => undefined,
    logger,
  })
  onTestFinished(async () => {
    await starts.stop()
    await database.close()
    await rm(folder, { recursive: true })
  })
  const add = (sourceId: string, count: number) =>
    addToInbox(
      database,
      Array.from({ length: count }, (_, n) => ({
        input: inputOf(sourceId, `${sourceId}-${n}`),
        receivedAt: new Date(),
      })),
    )
  await add('hanging', 130)
  await add('healthy', 20)
  const [hanging = '', healthy = ''] = (await turnsInInbox(database, '', 10)).map(({ id }) => id)
  expect([hanging, healthy]).toEqual(['hanging', 'healthy'].map((sourceId) => turnIdOf(inputOf(sourceId, 'any'))))

  expect(await starts.move([hanging])).toEqual(new Map([[hanging, 130]]))
  await until('the first one is started', () => started.length === 1)
  expect([hanging, healthy].map((turn) => starts.isBusy(turn))).toEqual([true, false])
  expect(await starts.move([healthy])).toEqual(new Map([[healthy, 20]]))
  await until('that of the other source is started', () => started.length === 2)
  expect(started).toEqual(['100 of hanging', '20 of healthy'])
  expect(told).toEqual(['room'])

  for (const events of underWay) events.end()
  await until('the last one is started', () => started.length === 3)
  expect(started[2]).toBe('30 of hanging')
  await until('its turn is told to be free', () => told.length === 2)
  expect(starts.isBusy(hanging)).toBe(false)
})
