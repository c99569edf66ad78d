/** Gets, once for all files, the programs that take minutes to build. */
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { findTemporalCli } from '../../src/temporal/cli-binary.ts'
import { provideGoPrograms } from '../support/go-programs.ts'
import { provideTemporalServerBinaries } from '../support/temporal-server-binaries.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Folder with `temporal-server` and `temporal-sql-tool`. */
    temporalBinaries: string
    /** Path of the `temporal` CLI. */
    temporalCli: string
    /** Path of `helm`. */
    helm: string
  }
}

export default async function setup(project: TestProject): Promise<void> {
  const onProgress = (line: string): void => {
    console.log(line)
  }
  project.provide('temporalCli', await findTemporalCli({ env: process.env, onProgress }))
  project.provide('temporalBinaries', await provideTemporalServerBinaries(onProgress))
  const helm = { name: 'helm', version: '3.22.0', packages: { 'helm.sh/helm/v3/cmd/helm': 'helm' }, report: onProgress }
  project.provide('helm', join(await provideGoPrograms(helm), 'helm'))
}
