/** Symptom: members of an audience that was deleted without `notify` were told `false` all the same, now and then.
 *  Cause: the audience was read before its next sync was taken. A deletion in between was taken for that sync, with the
 *  destinations that the audience had had before.
 *  Consequence: who deletes an audience silently right after a sync had every member removed from it at its destinations. */

import { pino } from 'pino'
import { expect, it, onTestFinished } from 'vitest'
import { createAudienceStore } from '../../src/db/audiences.ts'
import { requestSync } from '../../src/db/audiences-syncs.ts'
import { databaseIn } from '../../src/db/database.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { createSecretBox } from '../../src/secrets.ts'
import { runRequestedSync } from '../../src/temporal/audience-syncs.ts'
import { createAudience, told, uploadAndSync } from '../audiences/setup.ts'
import { startTestApp } from '../support/app.ts'
import { findPostgres, startPostgres } from '../support/postgres.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

const keys = [{ id: 'k1', key: Buffer.alloc(32, 7) }]

const waitingForSyncs = `select 1 from pg_locks where relation = 'audience_syncs'::regclass and not granted`

it.skipIf(findPostgres() === undefined)('a silent deletion in the midst of taking a sync tells nobody', async () => {
  const postgres = await startPostgres()
  onTestFinished(() => postgres.stop())
  const url = await postgres.createDatabase()
  await using node = await startTestApp({ environment: { DATABASE_URL: url } })
  await using receiver = await startReceiver()
  const destination = await node.connect([], [receiver.url])
  const audience = await createAudience(node, [destination.id])
  await uploadAndSync(node, audience, ['u1', 'u2'])

  const database = openPostgres(url, pino({ level: 'error' }))
  onTestFinished(() => database.close())
  await database.transaction(async (tx) => {
    // Nobody takes a sync until this transaction ends.
    await tx.query('lock table audience_syncs in share row exclusive mode')
    await runRequestedSync(node.app.temporal, audience.id)
    await until('the workflow is about to take a sync', async () => (await tx.query(waitingForSyncs)).length > 0)
    await createAudienceStore(databaseIn(tx), createSecretBox(keys)).markDeleted(audience.id, false)
    await requestSync(databaseIn(tx), { audienceId: audience.id, kind: 'delete' })
  })
  const rows = () => database.query('select 1 from audiences where id = $1', [audience.id])
  await until('the audience is gone', async () => (await rows()).length === 0)

  expect(told(receiver.requests).filter(({ traits }) => traits['vip_customers'] === false)).toEqual([])
})
