/** Which folder may import from which: the dependencies point one way. */

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import ts from 'typescript'
import { expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '..')

interface Layer {
  /** Layers, or single files of others, whose values it may import, beside itself. */
  values: string[]
  /** Further layers that it may import with `import type`. */
  types?: string[]
  /** Its only libraries; absent: any. */
  libraries?: string[]
}

/** Modules of `src` that every layer there may use. */
const basics = [
  'src/errors.ts',
  'src/ids.ts',
  'src/secrets.ts',
  'src/config.ts',
  'src/logger.ts',
  'src/ports.ts',
  'src/within.ts',
  'src/failure-log.ts',
  'src/socket-path.ts',
]

const rules = ['src/contracts', 'src/schemas', ...basics]

/** By the longest matching path. What is not listed (`src/app.ts`, `src/commands`, …) puts the parts together and may
 *  import everything. */
const layers: Record<string, Layer> = {
  'src/errors.ts': { values: [], libraries: [] },
  'src/ids.ts': { values: [], libraries: ['node:crypto'] },
  'src/secrets.ts': { values: ['src/errors.ts'], types: ['src/config.ts'], libraries: ['node:crypto'] },
  'src/config.ts': { values: ['src/errors.ts'] },
  'src/logger.ts': { values: [], libraries: ['pino'] },
  'src/ports.ts': { values: [] },
  'src/within.ts': { values: [], libraries: [] },
  'src/socket-path.ts': { values: [], libraries: [] },
  'src/failure-log.ts': { values: ['src/errors.ts'], types: ['src/logger.ts'], libraries: [] },
  'src/schemas': { values: [], libraries: ['zod'] },
  'src/contracts': { values: [], types: ['src/schemas'], libraries: [] },
  'src/delivery': { values: rules },
  'src/ingest': { values: rules },
  'src/audiences': { values: [...rules, 'src/delivery'], types: ['src/db'] },
  'src/db': {
    values: [...rules, 'src/half-made.ts', 'src/audiences/sql-source.ts', 'src/access/token-hash.ts'],
    types: ['src/audiences', 'src/intake'],
  },
  'src/settings': { values: [...rules, 'src/db'] },
  'src/temporal': {
    values: [...rules, 'src/process-identity.ts', 'src/process-lock.ts', 'src/unless-aborted.ts', 'src/half-made.ts'],
    types: ['workflows'],
  },
  'src/http': {
    values: [
      ...rules,
      'src/access',
      'src/audiences',
      'src/db',
      'src/delivery',
      'src/ingest',
      'src/temporal',
      'src/deliveries',
      'src/live',
      'src/observation',
    ],
    types: ['src/deletions', 'src/intake', 'src/settings', 'src/status.ts', 'src/readiness.ts'],
  },
  activities: {
    values: [...rules, 'src/audiences', 'src/db', 'src/delivery'],
    types: ['src/deletions', 'src/observation', 'src/temporal'],
  },
  workflows: { values: ['src/contracts'], types: ['src/schemas'], libraries: ['@temporalio/workflow'] },
}

const allLayers = Object.keys(layers).sort((a, b) => b.length - a.length)
const layerOf = (path: string): string | undefined =>
  allLayers.find((layer) => path === layer || path.startsWith(`${layer}/`))

/** Imports of a file that its layer may not have. */
function forbiddenImports(file: string, code: string): string[] {
  const from = layerOf(file)
  const layer = from === undefined ? undefined : layers[from]
  if (from === undefined || layer === undefined) return []
  return importsOf(file, code)
    .filter(({ name, typeOnly }) => !isAllowed(file, from, layer, name, typeOnly))
    .map(({ name }) => name)
}

function isAllowed(file: string, from: string, { values, types, libraries }: Layer, name: string, typeOnly: boolean) {
  if (!name.startsWith('.')) return libraries === undefined || libraries.includes(name)
  const path = relative(root, resolve(root, dirname(file), name))
  const allowed = [from, ...values, ...(typeOnly ? (types ?? []) : [])]
  return allowed.some((folder) => path === folder || path.startsWith(`${folder}/`))
}

function importsOf(file: string, code: string): { name: string; typeOnly: boolean }[] {
  return ts.createSourceFile(file, code, ts.ScriptTarget.Latest).statements.flatMap((node) => {
    if (!(ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) || node.moduleSpecifier === undefined) return []
    // `import { type X }` stays as an import under verbatimModuleSyntax; only `import type` is erased.
    const typeOnly = ts.isImportDeclaration(node)
      ? node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword
      : node.isTypeOnly
    return [{ name: (node.moduleSpecifier as ts.StringLiteral).text, typeOnly }]
  })
}

const files = ['src', 'workflows', 'activities'].flatMap((folder) =>
  readdirSync(resolve(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => `${folder}/${file}`),
)

it.each(files.filter((file) => layerOf(file) !== undefined))('%s imports only what its layer may', (file) => {
  expect(forbiddenImports(file, readFileSync(resolve(root, file), 'utf8'))).toEqual([])
})

it('imports only libraries that an installation for production has', () => {
  const { dependencies } = JSON.parse(readFileSync(resolve(root, 'package.json'), 'utf8')) as { dependencies: object }
  const missing = files.flatMap((file) => {
    const code = readFileSync(resolve(root, file), 'utf8')
    const loadedLate = [...code.matchAll(/\bimport\('([^']+)'\)/g)].map(([, name = '']) => name)
    return importsOf(file, code)
      .flatMap(({ name, typeOnly }) => (typeOnly ? [] : [name]))
      .concat(loadedLate)
      .filter((name) => !name.startsWith('.') && !name.startsWith('node:'))
      .map((name) => name.split('/', name.startsWith('@') ? 2 : 1).join('/'))
      .filter((library) => !Object.hasOwn(dependencies, library))
      .map((library) => `${library} in ${file}`)
  })
  expect(missing).toEqual([])
})

it.each([
  ['workflows/bad.ts', `import { createHash } from 'node:crypto'`],
  ['workflows/bad.ts', `import type { Deps } from '../activities/delivery.ts'`],
  ['workflows/bad.ts', `import { MessageBodySchema } from '../src/schemas/message.ts'`],
  ['src/contracts/bad.ts', `export { sign } from '../delivery/sign.ts'`],
  ['src/schemas/bad.ts', `import fastify from 'fastify'`],
  ['src/delivery/bad.ts', `import { openPostgres } from '../db/postgres.ts'`],
])('finds what is forbidden: in %s, %s', (file, code) => {
  expect(forbiddenImports(file, code)).toHaveLength(1)
})
