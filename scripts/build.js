/** Builds all: the client of the management API, which the rest uses; the server, the bundle of its workflows and the embedded
 *  database that a first start copies; and beside them the client library, the command alone and the web app, which offers the
 *  three for installing. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import process from 'node:process'

const run = async (command) => {
  const [code] = await once(spawn(command, { shell: true, stdio: 'inherit' }), 'exit')
  if (code !== 0) throw new Error(`${command} ended with ${code}`)
}

const server = async () => {
  await run('tsc -p tsconfig.build.json')
  await Promise.all([run('node dist/src/commands/bundle-workflows.js'), databaseTemplate()])
}

/** Making it takes seconds: it stays until there are other tables or another PGlite. */
const databaseTemplate = async () => {
  const folder = 'dist/database-template'
  const timeOf = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
  const madeFrom = ['dist/src/db/migrate.js', 'node_modules/@electric-sql/pglite/package.json']
  if (madeFrom.every((path) => timeOf(path) < timeOf(folder))) return
  rmSync(`${folder}.new`, { recursive: true, force: true })
  await run(`node dist/src/db/make-database.js ${folder}.new`)
  rmSync(folder, { recursive: true, force: true })
  renameSync(`${folder}.new`, folder)
}

const packagesAndWebApp = async () => {
  await run('npm run build --workspace client --workspace site --workspace web')
  await run('node cli/build.js')
  await pack('api')
  await pack('client')
  await pack('cli')
  copyFileSync('client/dist/script.js', 'web/dist/client.js')
}

/** Packs what is built there for installing, beside the web app. */
const pack = async (folder) => {
  await run(`npm pack ./${folder} --ignore-scripts --silent --pack-destination web/dist`)
  const { name, version } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
  renameSync(`web/dist/${name.slice(1).replace('/', '-')}-${version}.tgz`, `web/dist/${folder}.tgz`)
}

await run('npm run build --workspace api')
const results = await Promise.allSettled([server(), packagesAndWebApp()])
for (const { reason } of results.filter(({ status }) => status === 'rejected')) {
  process.stderr.write(`${reason.message}\n`)
  process.exitCode = 1
}
