/** Builds the package: one bundle per entry as ESM and CJS with source maps (esbuild), and the types of both (tsc); and the script for
 *  pages. */

import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import process from 'node:process'
import { build } from 'esbuild'

process.chdir(import.meta.dirname)
const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
rmSync('dist', { recursive: true, force: true })

const common = {
  bundle: true,
  sourcemap: true,
  target: 'es2022',
  define: { PACKAGE_VERSION: JSON.stringify(version) },
  logLevel: 'warning',
}
/** Names that only the library's own modules call each other by: no option, no JSON and no API of browsers has them. */
const internalNames = [
  'abandon',
  'acceptMessage',
  'addBatch',
  'became',
  'buffer',
  'complete',
  'completeCall',
  'discard',
  'drain',
  'drop',
  'dropOldest',
  'dropOverflow',
  'file',
  'finish',
  'finished',
  'forget',
  'halve',
  'handOver',
  'hasRoomFor',
  'isDue',
  'keep',
  'keeps',
  'kind',
  'makeDue',
  'maxBatchBytes',
  'meet',
  'putBack',
  'retryAfter',
  'retryAfterMs',
  'room',
  'startBeside',
  'stopped',
  'store',
  'take',
  'withdraw',
]
const nodeEntries = ['src/index.ts', 'src/receiver.ts']
/** platform browser refuses node: imports, so Node-only code cannot slip into pages. */
const forPages = {
  ...common,
  entryPoints: ['src/browser.ts'],
  platform: 'browser',
  minify: true,
  mangleProps: new RegExp(`^(${internalNames.join('|')})$`),
}
await Promise.all([
  build({ ...common, entryPoints: nodeEntries, platform: 'node', format: 'esm', outdir: 'dist/esm' }),
  build({ ...common, entryPoints: nodeEntries, platform: 'node', format: 'cjs', outdir: 'dist/cjs' }),
  build({ ...forPages, format: 'esm', outdir: 'dist/esm' }),
  // For pages that install nothing; the server offers it.
  build({ ...forPages, format: 'iife', globalName: 'Postrider', sourcemap: false, outfile: 'dist/script.js' }),
])

const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { stdio: 'inherit' })
mkdirSync('dist/cjs', { recursive: true })
// The same declarations stand beside the CJS files: what decides how they are read is the nearest package.json.
cpSync('dist/esm', 'dist/cjs', { recursive: true, filter: (path) => !/\.js(\.map)?$|browser\./.test(path) })
writeFileSync('dist/cjs/package.json', '{ "type": "commonjs" }\n')
