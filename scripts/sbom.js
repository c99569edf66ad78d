// Prints the bill of materials of what an installation for production has, as CycloneDX. `npm sbom --omit dev` would also leave out packages
// for production that a workspace needs for development.
import { spawnSync } from 'node:child_process'
import process from 'node:process'

const npm = spawnSync('npm', ['sbom', '--sbom-format', 'cyclonedx'], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
if (npm.status !== 0) throw new Error(`npm sbom failed: ${npm.stderr}`)
const bill = JSON.parse(npm.stdout)
const isForDevelopment = ({ properties = [] }) => properties.some(({ name }) => name === 'cdx:npm:package:development')
// npm calls packages of this repository by their folders.
const named = (component) => ({ ...component, name: component['bom-ref'].replace(/(?<=.)@[^@]*$/, '') })
const components = bill.components.filter((component) => !isForDevelopment(component)).map(named)
const kept = new Set([bill.metadata.component, ...components].map((component) => component['bom-ref']))
const dependencies = bill.dependencies
  .filter(({ ref }) => kept.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => kept.has(other)) }))
process.stdout.write(`${JSON.stringify({ ...bill, components, dependencies }, null, 2)}\n`)
