/** Builds all: the server, the bundle of its workflows and the embedded database that a first start copies; and beside them the
 *  client library and the web app, which offers the library for installing. */

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

const clientAndWebApp = async () => {
  await run('npm run build --workspaces --if-present')
  await run('npm pack --workspace client --ignore-scripts --silent --pack-destination web/dist')
  const { version } = JSON.parse(readFileSync('client/package.json', 'utf8'))
  renameSync(`web/dist/postrider-analytics-${version}.tgz`, 'web/dist/client.tgz')
  copyFileSync('client/dist/script.js', 'web/dist/client.js')
}

const results = await Promise.allSettled([server(), clientAndWebApp()])
for (const { reason } of results.filter(({ status }) => status === 'rejected')) {
  process.stderr.write(`${reason.message}\n`)
  process.exitCode = 1
}
