/** Runs once before all test files: the Temporal server that they share. */

import type { TestProject } from 'vitest/node'
import { makeDatabaseTemplate } from './database-template.ts'
import { startTestTemporal } from './temporal-run.ts'
import { bundleWorkflows } from './workflow-bundle.ts'

/** Starts the server and tells the test files its address; the function returned stops it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const interrupted = new AbortController()
  const interrupt = () => interrupted.abort(new Error('interrupted'))
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt)
  const temporal = await startTestTemporal((line) => console.log(line), interrupted.signal)
  project.provide('temporalAddress', temporal.address)
  project.provide('temporalCli', temporal.cli)
  project.provide('temporalRunFolder', temporal.folder)
  const [databaseTemplate, workflowBundle] = await Promise.all([
    makeDatabaseTemplate(temporal.folder),
    bundleWorkflows(temporal.folder),
  ])
  project.provide('databaseTemplate', databaseTemplate)
  project.provide('workflowBundle', workflowBundle)
  return async () => {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt)
    await temporal.stop()
  }
}
