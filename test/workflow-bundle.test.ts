/** The workflows bundle without anything of Node, of activities or of schemas at run time. */

import { fileURLToPath } from 'node:url'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundleOptions } from '../src/temporal/workflow-code.ts'

/** The SDK's own code is 1,480 KiB; one schema at run time adds 1,000. */
const maxBundleKiB = 2_200

const workflowsFolder = fileURLToPath(new URL('../workflows', import.meta.url))

const bundle = (workflowsPath: string) =>
  bundleWorkflowCode({ ...bundleOptions(workflowsPath), logger: new DefaultLogger('ERROR', () => {}) })

describe('the bundle of the workflows', () => {
  it('is made, has the workflows and stays small', async () => {
    const { code } = await bundle(join(workflowsFolder, 'index.ts'))
    expect(code).toContain('deliverEvent')
    expect(code).not.toContain('ZodType')
    expect(code).not.toContain('undici')
    expect(Buffer.byteLength(code) / 1024).toBeLessThan(maxBundleKiB)
  })

  describe('is refused or outgrows its bound when a workflow', () => {
    let folder: string
    beforeAll(async () => {
      // Beside the workflows, so that imports resolve as theirs do.
      folder = await mkdtemp(join(await realpath(join(workflowsFolder, '../node_modules')), '.bundle-test-'))
    })
    afterAll(() => rm(folder, { recursive: true }))

    const bundleOf = async (name: string, code: string) => {
      const path = join(folder, `${name}.ts`)
      await writeFile(path, code)
      return bundle(path)
    }
    const source = (file: string): string => join(workflowsFolder, '..', file)

    it('imports a module of Node', async () => {
      const code = `import { createHash } from 'node:crypto'\nexport async function bad() { return createHash('sha1').digest('hex') }`
      await expect(bundleOf('node', code)).rejects.toThrow()
    })

    it('imports an activity', async () => {
      const code = `import { createDeliveryActivities } from '${source('activities/delivery.ts')}'\nexport async function bad() { return String(createDeliveryActivities) }`
      await expect(bundleOf('activity', code)).rejects.toThrow()
    })

    it('uses a schema at run time', async () => {
      const code = `import { NewDestinationSchema } from '${source('src/schemas/destination.ts')}'\nexport async function bad() { return String(NewDestinationSchema) }`
      const { code: bundled } = await bundleOf('schema', code)
      expect(Buffer.byteLength(bundled) / 1024).toBeGreaterThan(maxBundleKiB)
    })
  })
})
