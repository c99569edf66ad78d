/** Workflows that began with an earlier version go on with this one: recorded histories replay without a deviation. */

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js'
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker'
import type { WorkflowBundleOption } from '@temporalio/worker'
import { DeterminismViolationError } from '@temporalio/workflow'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { packageVersion } from '../src/package-version.ts'
import { bundleOptions } from '../src/temporal/workflow-code.ts'
import './support/quiet-temporal.ts'
import { testConverter } from './support/sealed-payloads.ts'

const root = resolve(import.meta.dirname, '..')
const folder = join(root, 'test/histories')
/** Folders with the histories of a version, from the first on. */
const versions = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
const recorded = (version: string): string[] =>
  readdirSync(join(folder, version)).filter((file) => file.endsWith('.json'))
/** Each as `<version>/<path>`. */
const names = versions.flatMap((version) => recorded(version).map((file) => `${version}/${basename(file, '.json')}`))

const historyOf = (name: string) => historyFromJSON(JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')))
const eventsOf = (name: string) => historyOf(name).events ?? []

/** Every path that a delivery, a parcel, and the syncs of an audience can take. */
const paths = [
  'alert-told',
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
  'destination-held-while-failing',
  'destination-rechecked',
  'discarded-while-held',
  'discarded-while-retrying',
  'first-success-stops-the-rest',
  'held-by-one-until-it-was-switched-off',
  'held-for-a-second-run',
  'held-in-a-second-run',
  'held-in-the-middle-of-retries',
  'held-then-resumed',
  'held-until-told',
  'held-while-the-database-was-away',
  'kept-away-while-the-endpoint-is-down',
  'left-its-parcel-while-paused',
  'not-attempted-in-the-whole-window',
  'parcel-cancelled',
  'parcel-delivered-at-once',
  'parcel-discarded-while-retrying',
  'parcel-exhausted',
  'parcel-held-in-the-middle-of-retries',
  'parcel-held-then-resumed',
  'parcel-held-with-what-had-no-turn',
  'parcel-retried-then-delivered',
  'parcel-steered',
  'parcel-steered-while-an-activity-waits',
  'parcel-window-over',
  'parcel-window-over-while-another-destination-holds-it',
  'refused-beside-a-retry-now',
  'refused-by-all',
  'retry-after-beyond-the-window',
  'retried-now',
  'retried-now-beside-a-waiting-retry',
  'retried-then-delivered',
  'told-often-while-held',
  'told-often-while-retrying',
  'two-destinations-changed-at-once',
  'window-over',
]

/** Replays all histories, by one worker. @returns for each name the error, or 'replayed' */
async function replayAll(workflowBundle: WorkflowBundleOption): Promise<Map<string, Error | 'replayed'>> {
  const histories = names.map((name) => ({ workflowId: name, history: historyOf(name) }))
  const outcomes = new Map<string, Error | 'replayed'>()
  const options = { workflowBundle, dataConverter: testConverter }
  for await (const { workflowId, error } of Worker.runReplayHistories(options, histories))
    outcomes.set(workflowId, error ?? 'replayed')
  return outcomes
}

it('has a history of every path', () => {
  expect(names.map((name) => basename(name))).toEqual(expect.arrayContaining(paths))
})

it.each(versions)('has of version %s what was recorded then, byte for byte', (version) => {
  const path = join(folder, version)
  const lines = readFileSync(join(path, 'SHA256SUMS'), 'utf8').trimEnd().split('\n').sort()
  const digestOf = (file: string): string =>
    createHash('sha256')
      .update(readFileSync(join(path, file)))
      .digest('hex')
  expect(
    recorded(version)
      .map((file) => `${digestOf(file)}  ${file}`)
      .sort(),
  ).toEqual(lines)
})

it('has a history of the new way of every patch', () => {
  const sources = readdirSync(join(root, 'workflows')).filter((file) => file.endsWith('.ts'))
  const patches = sources.flatMap((file) => {
    const text = readFileSync(join(root, 'workflows', file), 'utf8')
    return [...text.matchAll(/\bpatched\((?:'([^']+)'|(\w+))\)/g)].map(
      ([, id, name]) => id ?? new RegExp(`const ${name} = '([^']+)'`).exec(text)?.[1],
    )
  })
  const taken = names.flatMap((name) =>
    eventsOf(name).flatMap(({ markerRecordedEventAttributes: marker }) =>
      (marker?.details?.['patch-data']?.payloads ?? []).map(
        ({ data }) => (JSON.parse(Buffer.from(data ?? '').toString()) as { id: string }).id,
      ),
    ),
  )
  expect(patches.length).toBeGreaterThan(5)
  expect(patches.filter((id) => id === undefined || !taken.includes(id))).toEqual([])
})

it('has histories of every workflow whose payloads are sealed', () => {
  const sealed = names.flatMap((name) => {
    const { workflowExecutionStartedEventAttributes: started } = eventsOf(name)[0] ?? {}
    const payloads = [...(started?.input?.payloads ?? []), ...Object.values(started?.memo?.fields ?? {})]
    const isSealed = payloads.every(({ metadata }) => String(metadata?.['encoding']) === 'binary/encrypted')
    return isSealed && payloads.length > 0 ? [started?.workflowType?.name] : []
  })
  expect(new Set(sealed)).toEqual(
    new Set([
      'deliverEvent',
      'deliverParcel',
      'syncAudience',
      'scheduledSync',
      'recheckDestination',
      'holdDestination',
      'tellAlert',
    ]),
  )
})

it('has a folder of no version but those up to the one in the making', () => {
  expect(versions).toContain('0.1.0')
  const newestLast = [...versions, packageVersion()].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
  for (const version of versions) expect(version).toMatch(/^\d+\.\d+\.\d+$/)
  expect(newestLast.at(-1)).toBe(packageVersion())
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
       export const recheckDestination = later(originals.recheckDestination)
       export const holdDestination = later(originals.holdDestination)
       export const tellAlert = later(originals.tellAlert)`,
    ),
  )
  for (const name of names) expect(outcomes.get(name), name).toBeInstanceOf(DeterminismViolationError)
})

it('fails alone where it handles a rejection nowhere: the worker goes on', async () => {
  const outcomes = await replayAll(
    await bundleOf(
      `import * as originals from '${join(root, 'workflows/index.ts')}'
       export const { deliverParcel, holdDestination, tellAlert, recheckDestination, syncAudience, scheduledSync } = originals
       export const deliverEvent = (input) => { void Promise.reject(new Error('lost')); return originals.deliverEvent(input) }`,
    ),
  )
  expect(outcomes.get('0.1.0/delivered-at-once')).toMatchObject({
    message: expect.stringContaining('workflow task failure') as string,
  })
  expect(outcomes.get('0.1.0/audience-first-sync')).toBe('replayed')
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
