/** Workflows that began with an earlier version go on with this one: recorded histories replay without a deviation. */

import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js'
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker'
import type { WorkflowBundleWithSourceMap } from '@temporalio/worker'
import { DeterminismViolationError } from '@temporalio/workflow'
import { beforeAll, describe, expect, it } from 'vitest'
import { bundleOptions } from '../src/temporal/workflow-code.ts'
import './support/quiet-temporal.ts'

const root = resolve(import.meta.dirname, '..')
const folder = join(root, 'test/histories')
const names = readdirSync(folder).map((file) => file.replace(/\.json$/, ''))

/** Every path that a delivery, and the syncs of an audience, can take. */
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
  'audience-stopped',
  'audience-stopped-while-held',
  'cancelled',
  'deferred',
  'delivered-at-once',
  'discarded-while-held',
  'discarded-while-retrying',
  'first-success-stops-the-rest',
  'held-in-the-middle-of-retries',
  'held-then-resumed',
  'refused-by-all',
  'retried-now',
  'retried-now-beside-a-waiting-retry',
  'retried-then-delivered',
  'window-over',
]

const bundle = (workflowsPath: string): Promise<WorkflowBundleWithSourceMap> =>
  bundleWorkflowCode({ ...bundleOptions(workflowsPath), logger: new DefaultLogger('ERROR') })

const replay = (workflowBundle: WorkflowBundleWithSourceMap, name: string): Promise<void> =>
  Worker.runReplayHistory(
    { workflowBundle },
    historyFromJSON(JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'))),
  )

it('has a history of every path', () => {
  expect(names).toEqual(expect.arrayContaining(paths))
})

describe('the workflow as it is', () => {
  let workflows: WorkflowBundleWithSourceMap
  beforeAll(async () => {
    workflows = await bundle(join(root, 'workflows/index.ts'))
  })

  it.each(names)('replays "%s"', (name) => replay(workflows, name))
})

it('would be told apart if it did one thing more, on any path', async () => {
  const scratch = await mkdtemp(join(await realpath(join(root, 'node_modules')), '.replay-test-'))
  try {
    const changed = join(scratch, 'changed.ts')
    await writeFile(
      changed,
      `import { sleep } from '@temporalio/workflow'
       import * as originals from '${join(root, 'workflows/index.ts')}'
       const later = (original) => async (input) => { await sleep(1); return original(input) }
       export const deliverEvent = later(originals.deliverEvent)
       export const syncAudience = later(originals.syncAudience)
       export const scheduledSync = later(originals.scheduledSync)`,
    )
    const workflows = await bundle(changed)
    for (const name of names) await expect(replay(workflows, name), name).rejects.toThrow(DeterminismViolationError)
  } finally {
    await rm(scratch, { recursive: true })
  }
})
