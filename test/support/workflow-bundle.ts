/** The workflows as they are in the sources, bundled once per run: a node that bundles them for itself takes seconds. */

import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import { bundleOptions } from '../../src/temporal/workflow-code.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** File with the bundled workflows. */
    workflowBundle: string
  }
}

/** @returns path of the bundle */
export async function bundleWorkflows(runFolder: string): Promise<string> {
  const { code } = await bundleWorkflowCode({
    ...bundleOptions(resolve(import.meta.dirname, '../../workflows/index.ts')),
    logger: new DefaultLogger('ERROR'),
  })
  const path = join(runFolder, 'workflow-bundle.js')
  await writeFile(path, code)
  return path
}
