/** Settings in the environment of this machine, and what they lead to. */

import { lstat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { readConfig, readDatabaseUrl, type Config } from '../../config.ts'
import { StartError } from '../../errors.ts'
import { ok, problem, warning, type Check } from './check.ts'
import { checkDatabase } from './database.ts'
import { checkDisk } from './disk.ts'
import { checkTemporal } from './temporal.ts'

/** @param isUp  whether a node answers on this machine already */
export async function checkMachine(env: NodeJS.ProcessEnv, isUp: boolean): Promise<Check[]> {
  const config = readChecked(env)
  if ('state' in config) return [config, ...(await databaseAlone(env))]
  const dataDir = resolve(config.dataDir)
  const checks = await Promise.all([
    checkDatabase(config.databaseUrl, config.encryptionKeys),
    checkTemporal(config, env),
    config.encryptionKeys === undefined
      ? checkKeyFile(join(dataDir, 'encryption-keys'))
      : ok('keys', `${config.encryptionKeys.length} in POSTRIDER_ENCRYPTION_KEYS`),
    isEmbedded(config) ? checkDisk(dataDir) : [],
    isUp ? [] : checkPorts(config),
  ])
  return [ok('settings', 'all can be read'), ...checks.flat()]
}

/** Whether events are kept in the data folder. */
const isEmbedded = ({ databaseUrl, temporal }: Config): boolean =>
  databaseUrl === undefined || temporal.kind === 'embedded'

function readChecked(env: NodeJS.ProcessEnv): Config | Check {
  try {
    return readConfig(env)
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    return problem(
      'settings',
      error.message,
      'Correct this environment variable; docs/configuration.md lists them all.',
    )
  }
}

/** Other settings may be in another place, such as a service file, but the database's is here. */
async function databaseAlone(env: NodeJS.ProcessEnv): Promise<Check[]> {
  const url = databaseUrlOf(env)
  return url === undefined ? [] : checkDatabase(url, undefined)
}

/** Undefined also when it cannot be used: the settings told of it. */
function databaseUrlOf(env: NodeJS.ProcessEnv): string | undefined {
  try {
    return readDatabaseUrl(env)
  } catch (error) {
    if (error instanceof StartError) return undefined
    throw error
  }
}

async function checkKeyFile(path: string): Promise<Check> {
  const file = await lstat(path).catch(() => undefined)
  if (file === undefined) return ok('keys', `none yet; the first start makes ${path}`)
  if ((file.mode & 0o077) === 0) return ok('keys', path)
  return warning('keys', `others can read ${path}`, `chmod 600 ${path}`)
}

async function checkPorts({ host, port, temporal }: Config): Promise<Check[]> {
  const wanted = [
    { name: 'address', variable: 'PORT', host, port },
    ...(temporal.kind === 'embedded'
      ? [
          { name: 'address of Temporal', variable: 'POSTRIDER_TEMPORAL_PORT', host: '127.0.0.1', port: temporal.port },
          {
            name: 'address of the Temporal UI',
            variable: 'POSTRIDER_TEMPORAL_UI_PORT',
            host: '127.0.0.1',
            port: temporal.uiPort,
          },
        ]
      : []),
  ]
  return Promise.all(
    wanted.map(async ({ name, variable, host: at, port: wantedPort }) => {
      const failure = await tryListen(at, wantedPort)
      if (failure === undefined) return ok(name, `${at}:${wantedPort} is free`)
      const found = `${at}:${wantedPort} is not available (${failure})`
      return problem(name, found, `Stop the program that uses it, or set ${variable} to another port.`)
    }),
  )
}

const tryListen = (host: string, port: number): Promise<string | undefined> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', ({ message, code }: NodeJS.ErrnoException) => resolve(code ?? message))
    server.listen(port, host, () => server.close(() => resolve(undefined)))
  })
