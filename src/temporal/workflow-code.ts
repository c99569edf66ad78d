import { fileURLToPath } from 'node:url'
import type { WorkerOptions } from '@temporalio/worker'

/** File name of the workflows' prebuilt bundle in `dist`. */
export const bundleName = 'workflow-bundle.js'

/** The workflows for a worker: prebuilt in the build, bundled on the spot when the sources run. */
export function workflowCode(): Pick<WorkerOptions, 'workflowBundle' | 'workflowsPath'> {
  if (import.meta.url.endsWith('.ts'))
    return { workflowsPath: fileURLToPath(new URL('../../workflows/index.ts', import.meta.url)) }
  return { workflowBundle: { codePath: fileURLToPath(new URL(`../../${bundleName}`, import.meta.url)) } }
}
