/** Builds the package: the command with all libraries that it uses, so that it can be had from a node where no registry can be
 *  reached; and what their licences want to be told. No workspace: as one, it would take the name
 *  `postrider` in `node_modules/.bin` from the whole. */

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import process from 'node:process'
import { build } from 'esbuild'

process.chdir(import.meta.dirname)
rmSync('dist', { recursive: true, force: true })

const { metafile } = await build({
  absWorkingDir: process.cwd(),
  entryPoints: ['../src/cli-alone.ts'],
  outdir: 'dist',
  bundle: true,
  // What few commands need stays in files of its own, read late.
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  minifySyntax: true,
  minifyWhitespace: true,
  // Libraries that are no ES modules ask for Node's modules in this way.
  banner: { js: "import{createRequire as makeRequire}from'node:module';const require=makeRequire(import.meta.url);" },
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
})

const folders = Object.values(metafile.outputs)
  .flatMap(({ inputs }) => Object.keys(inputs))
  .flatMap((input) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input) ?? [])
writeFileSync('dist/third-party-licenses.txt', [...new Set(folders)].sort().map(licenseOf).join('\n\n'))

function licenseOf(folder) {
  const { name, version, license, author } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one))
  const text =
    file === undefined
      ? `Licensed under ${license}, by ${author?.name ?? author ?? 'its authors'}.`
      : readFileSync(`${folder}/${file}`, 'utf8')
  return `${name} ${version} (${license})\n\n${text.trim()}\n`
}
