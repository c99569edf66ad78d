/** `npm run bench:workflows`: processor time of workflow code per event, by replaying recorded histories of a delivery and of
 *  a parcel: as it is, with the SDK's guard against endless loops, and with the SDK's stack traces of promises. */

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js'
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker, type WorkflowBundleOption } from '@temporalio/worker'
import { UnguardedWorker } from '../src/temporal/sdk-internals/unguarded-worker.ts'
import { bundleOptions } from '../src/temporal/workflow-code.ts'
import { openReport, quantile } from './support/figures.ts'

const { values } = parseArgs({
  options: { workflows: { type: 'string', default: '300' }, rounds: { type: 'string', default: '5' } },
})

const root = resolve(import.meta.dirname, '..')
const logger = new DefaultLogger('ERROR')
Runtime.install({ logger })

/** @param left  module of the workflows that is left out */
const bundle = (left?: string): Promise<WorkflowBundleOption> =>
  bundleWorkflowCode({
    ...bundleOptions(resolve(root, 'workflows/index.ts')),
    logger,
    ...(left !== undefined && {
      webpackConfigHook: (config) => ({
        ...config,
        resolve: { ...config.resolve, alias: { ...config.resolve?.alias, [resolve(root, left)]: false } },
      }),
    }),
  })

const asItIs = await bundle()
const forms = [
  { name: 'as it is', worker: UnguardedWorker, code: asItIs },
  { name: 'with the guard', worker: Worker, code: asItIs },
  {
    name: 'with stack traces',
    worker: UnguardedWorker,
    code: await bundle('src/temporal/sdk-internals/stack-traces.ts'),
  },
]
const report = openReport('Workflow code, processor time of a workflow')
for (const history of ['delivered-at-once', 'parcel-delivered-at-once']) {
  const spent = forms.map((): number[] => [])
  // The first round warms all up.
  for (let round = 0; round <= Number(values.rounds); round++)
    for (const [index, { worker, code }] of forms.entries()) {
      const ms = await replayMs(worker, code, history, Number(values.workflows))
      if (round > 0) spent[index]?.push(ms)
    }
  forms.forEach(({ name }, index) => report.add(`${history}, ${name}`, quantile(spent[index] ?? [], 0.5), 'ms'))
}
report.close()

/** @returns processor time of one workflow, in milliseconds */
async function replayMs(
  worker: typeof Worker,
  workflowBundle: WorkflowBundleOption,
  name: string,
  total: number,
): Promise<number> {
  const json: unknown = JSON.parse(readFileSync(resolve(root, `test/histories/0.1.0/${name}.json`), 'utf8'))
  const histories = Array.from({ length: total }, (_, index) => ({
    workflowId: `${name}-${index}`,
    history: historyFromJSON(json),
  }))
  const before = process.cpuUsage()
  for await (const { error } of worker.runReplayHistories({ workflowBundle }, histories)) if (error) throw error
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000 / total
}
