/** Builds all: the server and the bundle of its workflows, and beside them the client library and the web app. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'

const run = async (command) => {
  const [code] = await once(spawn(command, { shell: true, stdio: 'inherit' }), 'exit')
  if (code !== 0) throw new Error(`${command} ended with ${code}`)
}

const server = async () => {
  await run('tsc -p tsconfig.build.json')
  await run('node dist/src/commands/bundle-workflows.js')
}

const results = await Promise.allSettled([server(), run('npm run build --workspaces --if-present')])
for (const { reason } of results.filter(({ status }) => status === 'rejected')) {
  process.stderr.write(`${reason.message}\n`)
  process.exitCode = 1
}
