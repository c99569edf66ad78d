/** Build step: bundles the workflows of `dist`, so that a start does not have to. */

import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { bundleWorkflowCode } from '@temporalio/worker'
import { bundleName, bundleOptions } from '../temporal/workflow-code.ts'

const dist = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url))

const { code } = await bundleWorkflowCode({
  ...bundleOptions(dist('workflows/index.js')),
  logger: { log: () => {}, trace: () => {}, debug: () => {}, info: () => {}, warn: console.warn, error: console.error },
})
await writeFile(dist(bundleName), code)
