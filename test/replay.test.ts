/** Workflows that began with an earlier version go on with this one: recorded histories replay without a deviation. */

import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js'
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker'
import type { WorkflowBundleOption } from '@temporalio/worker'
import { DeterminismViolationError } from '@temporalio/workflow'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { bundleOptions } from '../src/temporal/workflow-code.ts'
import './support/quiet-temporal.ts'

const root = resolve(import.meta.dirname, '..')
const folder = join(root, 'test/histories')
const names = readdirSync(folder).map((file) => file.replace(/\.json$/, ''))

/** Every path that a delivery, a parcel, and the syncs of an audience can take. */
const paths = [
  'audience-by-schedule',
  'audience-continued',
  'audience-continued-as-new',
  'audience-deleted',
  'audience-endpoint-down',
  'audience-first-sync',
  'audience-handed-on',
  'audience-held-and-another-waits',
  'audience-membership-unusable',
  'audience-refused',
  'audience-schedule',
  'audience-schedule-skipped',
  'audience-source-fails-at-first',
  'audience-stopped',
  'audience-stopped-while-held',
  'cancelled',
  'deferred',
  'delivered-at-once',
  'destination-rechecked',
  'discarded-while-held',
  'discarded-while-retrying',
  'first-success-stops-the-rest',
  'held-for-a-second-run',
  'held-in-a-second-run',
  'held-in-the-middle-of-retries',
  'held-then-resumed',
  'held-until-told',
  'held-while-the-database-was-away',
  'kept-away-while-the-endpoint-is-down',
  'not-attempted-in-the-whole-window',
  'parcel-cancelled',
  'parcel-delivered-at-once',
  'parcel-discarded-while-retrying',
  'parcel-exhausted',
  'parcel-held-in-the-middle-of-retries',
  'parcel-held-then-resumed',
  'parcel-retried-then-delivered',
  'parcel-steered',
  'parcel-steered-while-an-activity-waits',
  'parcel-window-over',
  'refused-by-all',
  'retry-after-beyond-the-window',
  'retried-now',
  'retried-now-beside-a-waiting-retry',
  'retried-then-delivered',
  'told-often-while-held',
  'told-often-while-retrying',
  'window-over',
]

/** Replays all histories, by one worker. @returns for each name the error, or 'replayed' */
async function replayAll(workflowBundle: WorkflowBundleOption): Promise<Map<string, Error | 'replayed'>> {
  const histories = names.map((name) => ({
    workflowId: name,
    history: historyFromJSON(JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'))),
  }))
  const outcomes = new Map<string, Error | 'replayed'>()
  for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle }, histories))
    outcomes.set(workflowId, error ?? 'replayed')
  return outcomes
}

it('has a history of every path', () => {
  expect(names).toEqual(expect.arrayContaining(paths))
})

describe('the workflow as it is', () => {
  let outcomes: Map<string, Error | 'replayed'>
  beforeAll(async () => {
    outcomes = await replayAll({ codePath: inject('workflowBundle') })
  })

  it.each(names)('replays "%s"', (name) => expect(outcomes.get(name)).toBe('replayed'))
})

it('would be told apart if it did one thing more, on any path', async () => {
  const outcomes = await replayAll(
    await bundleOf(
      `import { sleep } from '@temporalio/workflow'
       import * as originals from '${join(root, 'workflows/index.ts')}'
       const later = (original) => async (input) => { await sleep(1); return original(input) }
       export const deliverEvent = later(originals.deliverEvent)
       export const deliverParcel = later(originals.deliverParcel)
       export const syncAudience = later(originals.syncAudience)
       export const scheduledSync = later(originals.scheduledSync)
       export const recheckDestination = later(originals.recheckDestination)`,
    ),
  )
  for (const name of names) expect(outcomes.get(name), name).toBeInstanceOf(DeterminismViolationError)
})

it('fails alone where it handles a rejection nowhere: the worker goes on', async () => {
  const outcomes = await replayAll(
    await bundleOf(
      `import * as originals from '${join(root, 'workflows/index.ts')}'
       export const { deliverParcel, recheckDestination, syncAudience, scheduledSync } = originals
       export const deliverEvent = (input) => { void Promise.reject(new Error('lost')); return originals.deliverEvent(input) }`,
    ),
  )
  expect(outcomes.get('delivered-at-once')).toMatchObject({ message: expect.stringContaining('Error: lost') as string })
  expect(outcomes.get('audience-first-sync')).toBe('replayed')
})

/** Bundles workflows of this source. */
async function bundleOf(source: string): Promise<WorkflowBundleOption> {
  const scratch = await mkdtemp(join(await realpath(join(root, 'node_modules')), '.replay-test-'))
  try {
    const path = join(scratch, 'changed.ts')
    await writeFile(path, source)
    return await bundleWorkflowCode({ ...bundleOptions(path), logger: new DefaultLogger('ERROR') })
  } finally {
    await rm(scratch, { recursive: true })
  }
}
