/** Which folder may import from which: the dependencies point one way, and never in a circle. */

import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { codeFiles, cyclesIn, importsOf, isRelative, pathOf, readCode, type Import } from './support/imports.ts'

interface Layer {
  /** Layers, or single files of others, whose values it may import, beside itself. */
  values: string[]
  /** Further layers that it may import with `import type`. */
  types?: string[]
  /** Its only libraries, `node:` for all of Node's own; absent: any. */
  libraries?: string[]
  /** It has only the files that stand directly in its folder: each folder below is a layer of its own. */
  flat?: true
}

/** Modules of `src` that every layer there may use. */
const basics = [
  'src/errors.ts',
  'src/ids.ts',
  'src/secrets.ts',
  'src/config.ts',
  'src/secret-files.ts',
  'src/logger.ts',
  'src/ports.ts',
  'src/pause.ts',
  'src/within.ts',
  'src/in-groups.ts',
  'src/failure-log.ts',
  'src/gathered-writes.ts',
  'src/keep-looking.ts',
  'src/lookout.ts',
  'src/socket-path.ts',
]

const rules = ['src/contracts', 'src/schemas', ...basics]
const processFiles = ['src/process-identity.ts', 'src/process-lock.ts', 'src/unless-aborted.ts', 'src/half-made.ts']
const program = ['src', 'activities', 'workflows']

/** By the longest matching path. */
const layers: Record<string, Layer> = {
  // What `src` has beside its folders puts the parts together: `src/app.ts`, `src/cli.ts`.
  src: { values: ['src', 'activities'], flat: true },
  'src/commands': { values: ['src'] },
  'src/composition': { values: ['src', 'activities'] },

  'src/errors.ts': { values: [], libraries: [] },
  'src/ids.ts': { values: [], libraries: ['node:crypto'] },
  'src/secrets.ts': { values: ['src/errors.ts'], types: ['src/config.ts'], libraries: ['node:crypto'] },
  'src/config.ts': { values: ['src/errors.ts', 'src/secret-files.ts', 'src/schemas/plain-words.ts'] },
  'src/secret-files.ts': { values: ['src/errors.ts'], libraries: ['node:fs'] },
  'src/logger.ts': { values: [], libraries: ['node:', 'pino', 'pino-pretty'] },
  'src/ports.ts': { values: [] },
  'src/pause.ts': { values: [], libraries: ['node:'] },
  'src/within.ts': { values: [], libraries: [] },
  'src/in-groups.ts': { values: [], libraries: [] },
  'src/socket-path.ts': { values: [], libraries: [] },
  'src/failure-log.ts': { values: ['src/errors.ts'], types: ['src/logger.ts'], libraries: [] },
  'src/gathered-writes.ts': { values: [], libraries: [] },
  'src/keep-looking.ts': { values: ['src/failure-log.ts', 'src/pause.ts'], types: ['src/logger.ts'], libraries: [] },
  'src/lookout.ts': { values: [], libraries: ['node:'] },
  'src/clean-ups.ts': { values: [], types: ['src/logger.ts'], libraries: [] },
  'src/half-made.ts': { values: [], libraries: ['node:'] },
  'src/package-version.ts': { values: [], libraries: ['node:', 'zod'] },
  'src/process-identity.ts': { values: [], libraries: ['node:'] },
  'src/process-lock.ts': { values: ['src/socket-path.ts'], libraries: ['node:'] },
  'src/unless-aborted.ts': { values: [], libraries: ['node:'] },
  'src/data-folder.ts': { values: ['src/errors.ts', 'src/process-lock.ts'] },
  'src/installation.ts': { values: ['src/config.ts', 'src/errors.ts'] },
  'src/readiness.ts': { values: [], types: ['src/schemas'] },
  'src/backlog.ts': { values: basics },

  'src/schemas': { values: [], libraries: ['zod'] },
  'src/contracts': { values: [], types: ['src/schemas'], libraries: [] },
  'src/delivery': { values: rules },
  'src/filters': { values: rules },
  'src/mapping': { values: [...rules, 'src/filters/read-path.ts'] },
  'src/rehearsal': { values: rules, types: ['src/filters', 'src/mapping'] },
  'src/ingest': { values: rules, types: ['src/filters'] },
  'src/alerts': { values: [...rules, 'src/delivery'] },
  'src/receiver': { values: [] },
  'src/tracing': { values: basics },
  'src/tracing/port.ts': { values: [], libraries: [] },
  'src/tracing/workflow-span.ts': { values: [], libraries: ['node:crypto'] },
  'src/access': { values: [...rules, 'src/delivery'] },
  'src/live': { values: rules },
  'src/audiences': { values: [...rules, 'src/delivery'], types: ['src/db'] },
  'src/db': {
    values: [...rules, 'src/half-made.ts', 'src/audiences/sql-source.ts', 'src/access/token-hash.ts'],
    types: ['src/audiences', 'src/intake'],
  },
  'src/settings': { values: [...rules, 'src/db'] },
  'src/observation': { values: [...rules, 'src/db'], types: ['activities', 'src/delivery', 'src/mapping'] },
  'src/temporal': {
    values: [...rules, ...processFiles, 'src/tracing/workflow-span.ts'],
    types: ['workflows', 'src/tracing/port.ts'],
  },
  'src/deletions': { values: [...rules, 'src/db', 'src/ingest'] },
  'src/delivery-log': {
    values: [...rules, 'src/db', 'src/delivery', 'src/temporal', 'src/unless-aborted.ts'],
    types: ['src/mapping', 'src/rehearsal'],
  },
  'src/intake': {
    values: [...rules, 'src/db', 'src/filters', 'src/settings', 'src/temporal'],
    types: ['src/deletions', 'src/delivery', 'src/ingest', 'src/live'],
  },
  'src/quickstart': { values: [...rules, 'src/db', 'src/delivery', 'src/receiver'], types: ['src/settings'] },
  'src/availability.ts': { values: [...rules, 'src/temporal'], types: ['src/db'] },
  'src/status.ts': { values: [...rules, 'src/db', 'src/temporal', 'src/package-version.ts'] },
  'src/http': {
    values: [
      ...rules,
      'src/access',
      'src/alerts',
      'src/audiences',
      'src/db',
      'src/delivery',
      'src/filters',
      'src/mapping',
      'src/rehearsal',
      'src/ingest',
      'src/temporal',
      'src/delivery-log',
      'src/live',
      'src/observation',
    ],
    types: ['src/deletions', 'src/intake', 'src/settings', 'src/status.ts', 'src/readiness.ts', 'src/tracing/port.ts'],
  },
  activities: {
    values: [...rules, 'src/alerts', 'src/audiences', 'src/db', 'src/delivery', 'src/tracing/workflow-span.ts'],
    types: ['src/mapping', 'src/deletions', 'src/observation', 'src/temporal', 'src/tracing/port.ts'],
  },
  'src/temporal/sdk-internals/stack-traces.ts': { values: [], libraries: [] },
  workflows: {
    values: ['src/contracts', 'src/temporal/sdk-internals/stack-traces.ts'],
    types: ['src/schemas'],
    libraries: ['@temporalio/workflow'],
  },

  // The analytics library is installed into other people's programs: it has no library, and nothing of the server.
  'client/src': { values: [], libraries: ['node:'] },
  // The client of the management API likewise has nothing but the library that it types.
  'api/src': { values: [], libraries: ['openapi-fetch'] },
  'web/src': { values: ['web/src'], flat: true },
  'web/src/api': { values: [], types: ['src/schemas'] },
  'web/src/shared': { values: ['web/src/api'], types: ['src/schemas'] },
  'web/src/shell': { values: ['web/src/api', 'web/src/shared'], types: ['src/schemas'] },
  ...Object.fromEntries(
    [
      'alerts',
      'audiences',
      'deletion-requests',
      'deliveries',
      'destinations',
      'overview',
      'settings',
      'sign-in',
      'sources',
      'turned-away',
    ].map((feature) => [
      `web/src/features/${feature}`,
      { values: ['web/src/api', 'web/src/shared'], types: ['src/schemas'] },
    ]),
  ),

  test: {
    values: [...program, 'client/test/support', 'bench/capacity', 'bench/results', 'bench/soak', 'site/.vitepress'],
  },
  'test/support': { values: program },
  'client/test': { values: ['client/src', 'test/support'] },
  'client/bench': { values: ['client/src', 'bench/support'] },
  bench: { values: [...program, 'test/support'] },
  scripts: { values: [...program, 'test/support'] },
}

const allLayers = Object.keys(layers).sort((a, b) => b.length - a.length)
const isIn = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)
const layerOf = (path: string): string | undefined =>
  allLayers.find((layer) => (layers[layer]?.flat === true ? dirname(path) === layer : isIn(path, layer)))

interface Source {
  file: string
  imports: Import[]
}

/** Imports of a file that its layer may not have. */
function forbiddenImports({ file, imports }: Source): string[] {
  const from = layerOf(file)
  const layer = from === undefined ? undefined : layers[from]
  if (from === undefined || layer === undefined) return [`${file} is of no layer`]
  return imports
    .filter((imported) => !isAllowed(file, from, layer, imported))
    .map(({ name }) => `${file} imports ${name}`)
}

function isAllowed(file: string, from: string, { values, types, libraries }: Layer, { name, typeOnly }: Import) {
  if (!isRelative(name)) return libraries === undefined || libraries.some((library) => isOf(name, library))
  const path = pathOf(file, name)
  return [from, ...values, ...(typeOnly ? (types ?? []) : [])].some((folder) => isIn(path, folder))
}

const isOf = (name: string, library: string): boolean =>
  library === 'node:' ? name.startsWith(library) : name === library

const sourceOf = (file: string, code: string): Source => ({ file, imports: importsOf(file, code) })

const files = codeFiles().map((file) => sourceOf(file, readCode(file)))

it('each file imports only what its layer may', () => {
  expect(files.flatMap(forbiddenImports)).toEqual([])
})

it('imports only libraries that an installation for production has', () => {
  const { dependencies } = JSON.parse(readCode('package.json')) as { dependencies: object }
  const missing = files
    .filter(({ file }) => program.some((folder) => isIn(file, folder)))
    .flatMap(({ file, imports }) =>
      imports
        .filter(({ name, typeOnly }) => !typeOnly && !isRelative(name) && !name.startsWith('node:'))
        .map(({ name }) => name.split('/', name.startsWith('@') ? 2 : 1).join('/'))
        .filter((library) => !Object.hasOwn(dependencies, library))
        .map((library) => `${library} in ${file}`),
    )
  expect(missing).toEqual([])
})

const graphOf = (sources: Source[]): Map<string, string[]> =>
  new Map(
    sources.map(({ file, imports }) => [
      file,
      imports.flatMap(({ name }) => (isRelative(name) ? [pathOf(file, name)] : [])),
    ]),
  )

const graph = graphOf(files)
const importsOfFile = (name: string | undefined): string[] =>
  files.find(({ file }) => file === name)?.imports.map((imported) => imported.name) ?? []

describe('imports in a circle', () => {
  it('are nowhere, not even of types', () => {
    expect(cyclesIn(graph)).toEqual([])
  })

  it('are found: of types, late ones, and through others', () => {
    const circle = graphOf([
      sourceOf('src/a.ts', `import type { B } from './b.ts'`),
      sourceOf('src/b.ts', `export * from './c.ts'`),
      sourceOf('src/c.ts', `const a = () => import('./a.ts')\nimport './d.ts'`),
      sourceOf('src/d.ts', ''),
    ])
    expect(cyclesIn(circle)).toEqual([['src/a.ts', 'src/b.ts', 'src/c.ts']])
  })
})

describe("an event's way in the README", () => {
  const [, list = ''] = /\nAn event's way, file by file:\n\n((?:\d+\. .*\n)+)/.exec(readCode('README.md')) ?? []
  const way = [...list.matchAll(/^\d+\. `([^`]+)`/gm)].map(([, file = '']) => file)
  const pathsFrom = (name: string): string[] => graph.get(name) ?? []

  /** A file that puts the two together: it imports both, or the port that the first one calls. */
  const joins = (one: string, next: string): boolean => {
    const ports = pathsFrom(one).filter((path) => path.endsWith('/port.ts'))
    return files.some(({ file }) => {
      const paths = pathsFrom(file)
      return isIn(file, 'src') && paths.includes(next) && [one, ...ports].some((path) => paths.includes(path))
    })
  }

  /** The workflow calls an activity by its name, which the other file implements. */
  const callsActivity = (one: string, next: string): boolean =>
    [...readCode(next).matchAll(/^ {4}(?:async )?(\w+)(?:: \(|\()/gm)].some(([, name = '']) =>
      readCode(one).includes(`.${name}(`),
    )

  it('has at most nine files, and begins and ends at the network', () => {
    expect(way.length).toBeGreaterThan(5)
    expect(way.length).toBeLessThanOrEqual(9)
    expect(importsOfFile(way[0])).toContain('fastify')
    expect(importsOfFile(way.at(-1))).toContain('undici')
  })

  it.each(way.slice(1).map((next, index) => [way[index] ?? '', next]))('leads from %s to %s', (one, next) => {
    const isStep =
      one.startsWith('workflows/') && next.startsWith('activities/')
        ? callsActivity(one, next)
        : pathsFrom(one).includes(next) || joins(one, next)
    expect(isStep).toBe(true)
  })
})

it.each([
  ['workflows/bad.ts', `import { createHash } from 'node:crypto'`],
  ['workflows/bad.ts', `import type { Deps } from '../activities/delivery.ts'`],
  ['workflows/bad.ts', `import { MessageBodySchema } from '../src/schemas/message.ts'`],
  ['src/contracts/bad.ts', `export { sign } from '../delivery/sign.ts'`],
  ['src/schemas/bad.ts', `import fastify from 'fastify'`],
  ['src/delivery/bad.ts', `import { openPostgres } from '../db/postgres.ts'`],
  ['src/temporal/bad.ts', `const inbox = () => import('../db/inbox.ts')`],
  ['src/db/bad.ts', `import { startApp } from '../app.ts'`],
  ['src/unknown/bad.ts', ''],
  ['client/src/bad.ts', `import { request } from 'undici'`],
  ['api/src/bad.ts', `import type { Source } from '../../src/schemas/source.ts'`],
  ['web/src/api/bad.ts', `import { SourceSchema } from '../../../src/schemas/source.ts'`],
  ['web/src/features/sources/bad.ts', `import { DeliveryTable } from '../deliveries/delivery-table.tsx'`],
  ['test/support/bad.ts', `import { measure } from '../../bench/support/figures.ts'`],
])('finds what is forbidden: in %s, %s', (file, code) => {
  expect(forbiddenImports(sourceOf(file, code))).toHaveLength(1)
})
