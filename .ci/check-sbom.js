// Checks the bill of materials on standard input: CycloneDX, with each package for production of package.json, and a version and an address of each component. Exit
// code 1 when something is missing.
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { text } from 'node:stream/consumers'
import { URL } from 'node:url'

const { bomFormat, components } = JSON.parse(await text(process.stdin))
const { dependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const names = new Set(components.map(({ group, name }) => (group ? `${group}/${name}` : name)))
const missing = Object.keys(dependencies).filter((name) => !names.has(name))
const vague = components.filter(({ version, purl }) => !version || !purl).map(({ name }) => name)
if (bomFormat !== 'CycloneDX' || missing.length > 0 || vague.length > 0) process.exitCode = 1
process.stdout.write(
  `${components.length} components; missing: ${missing.join(', ') || 'none'}; without version: ${vague.join(', ') || 'none'}\n`,
)
