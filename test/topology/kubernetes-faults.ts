/** What is wrong with manifests, by the API's own schemas as an npm package has them: its types know every member, its validators
 *  every pattern and choice. */

import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import ts from 'typescript'

/** A rendered object; all else of it is judged by its schema. */
export interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string; labels: Record<string, string> }
}

interface Model {
  validate(): void
}
type ModelModule = Record<string, new (data: unknown) => Model>

const root = resolve(import.meta.dirname, '../..')

/** The module that has the kinds of an API version. */
const moduleOf = (apiVersion: string): string => {
  const path = apiVersion === 'v1' ? 'v1' : apiVersion
  return apiVersion.startsWith('monitoring.coreos.com/')
    ? `@kubernetes-models/prometheus-operator/${path}`
    : `kubernetes-models/${path}`
}

/** @returns a line for each fault: unknown or missing members, values of a wrong type or out of their bounds */
export async function faultsOf(manifests: readonly Manifest[]): Promise<string[]> {
  return [...(await typeFaults(manifests)), ...(await valueFaults(manifests))]
}

/** Each manifest as a literal of its type: TypeScript refuses members that a type does not have. */
async function typeFaults(manifests: readonly Manifest[]): Promise<string[]> {
  const folder = await mkdtemp(join(await realpath(join(root, 'node_modules')), '.manifests-'))
  try {
    const files = await Promise.all(
      manifests.map(async (manifest, index) => {
        const file = join(folder, `${String(index)}-${manifest.kind}-${manifest.metadata.name}.ts`)
        const type = `import('${moduleOf(manifest.apiVersion)}').I${manifest.kind}`
        await writeFile(file, `export const manifest: ${type} = ${JSON.stringify(manifest, null, 1)}\n`)
        return file
      }),
    )
    const program = ts.createProgram(files, {
      noEmit: true,
      strict: true,
      skipLibCheck: true,
      types: [],
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
    })
    return ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => {
      const name = file?.fileName.slice(folder.length + 1) ?? 'program'
      return `${name}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
    })
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function valueFaults(manifests: readonly Manifest[]): Promise<string[]> {
  const faults: string[] = []
  for (const manifest of manifests) {
    const { [manifest.kind]: Kind } = (await import(moduleOf(manifest.apiVersion))) as ModelModule
    try {
      if (Kind === undefined) throw new Error(`${manifest.apiVersion} has no such kind`)
      new Kind(manifest).validate()
    } catch (error) {
      faults.push(`${manifest.kind} ${manifest.metadata.name}: ${(error as Error).message}`)
    }
  }
  return faults
}
