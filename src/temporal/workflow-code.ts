/** The workflows as a worker takes them. */

import { fileURLToPath } from 'node:url'
import type { BundleOptions, WorkerOptions } from '@temporalio/worker'
import { failureConverterPath } from './data-converter.ts'

/** File name of the workflows' prebuilt bundle in `dist`. */
export const bundleName = 'workflow-bundle.js'

/** Bundled already, or where to bundle them from. */
export type WorkflowCode = Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath' | 'bundlerOptions'>

/** How the workflows are bundled. Their modules keep nothing of a workflow, so one evaluation serves all: each would take
 *  a millisecond for its own. */
export const bundleOptions = (workflowsPath: string) =>
  ({ workflowsPath, preloadModules: [workflowsPath], failureConverterPath }) satisfies BundleOptions

/** The workflows beside this module: prebuilt in the build, bundled on the spot when the sources run. */
export function workflowCode(): WorkflowCode {
  if (import.meta.url.endsWith('.ts')) {
    // The worker's data converter names the converter of failures.
    const { workflowsPath, preloadModules } = bundleOptions(
      fileURLToPath(new URL('../../workflows/index.ts', import.meta.url)),
    )
    return { workflowsPath, bundlerOptions: { preloadModules } }
  }
  return { workflowBundle: { codePath: fileURLToPath(new URL(`../../${bundleName}`, import.meta.url)) } }
}
