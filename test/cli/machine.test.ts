/** The commands about nodes, machines and the command itself, beside a node that `start` runs as a newcomer has it. */

import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { delimiter, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type * as Failure from '../../src/commands/shared/failure.ts'
import type * as ReceivedText from '../../src/commands/shared/received-text.ts'
import type * as StartUpText from '../../src/commands/start-up-text.ts'
import type { ReceivedEvent } from '../../src/receiver/receiver.ts'
import { endOrphan } from '../../src/temporal/embedded-server.ts'
import { encryptionKeys } from '../support/sealed-payloads.ts'
import { builtModule } from '../support/built-command.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import { createNamespace, temporalAddress } from '../support/temporal.ts'
import { openShell, type Running, type Shell } from './command.ts'

const { codes, exitCodes } = await builtModule<typeof Failure>('commands/shared/failure.js')
const { receivedLine } = await builtModule<typeof ReceivedText>('commands/shared/received-text.js')
const { readyFacts, startUpText } = await builtModule<typeof StartUpText>('commands/start-up-text.js')

let shell: Shell
let dataDir: string
let node: Running
let ready: StartUpText.Ready
let adminToken: string
let postgres: PostgresServer | undefined

beforeAll(async () => {
  shell = await openShell()
  dataDir = join(shell.folder, 'node')
  // Making a database takes seconds.
  await cp(inject('databaseTemplate'), join(dataDir, 'pglite'), { recursive: true })
  const bin = join(shell.folder, 'bin')
  await mkdir(bin)
  await symlink(inject('temporalCli'), join(bin, 'temporal'))
  node = shell.start(['start', '--json'], {
    PATH: [bin, process.env['PATH']].join(delimiter),
    POSTRIDER_DATA_DIR: dataDir,
    ...{ PORT: '0', POSTRIDER_TEMPORAL_PORT: '0', POSTRIDER_TEMPORAL_UI_PORT: '0' },
  })
  ;[postgres, ready] = await Promise.all([
    findPostgres() === undefined ? undefined : startPostgres(),
    node.line('"url"').then((line) => JSON.parse(line) as StartUpText.Ready),
  ])
  adminToken = new URL(ready.loginUrl ?? '').hash.replace('#token=', '')
})
afterAll(async () => {
  await node[Symbol.asyncDispose]()
  await endOrphan(dataDir)
  await Promise.all([shell[Symbol.asyncDispose](), postgres?.stop()])
})

interface Report {
  ok: boolean
  checks: { name: string; state: string; found: string; mend?: string }[]
}

/** An address of this machine at which nothing listens. */
const nowhere = 'http://127.0.0.1:1'

describe('login and profiles', () => {
  it('keeps an address and a token that are right, for the user alone', async () => {
    const wrong = await shell.run(['login', '--address', ready.url, '--json'], { input: 'a-wrong-token\n' })
    expect(wrong.code).toBe(4)
    expect(JSON.parse(wrong.stderr)).toMatchObject({ code: 'unauthorized' })
    expect((await shell.run(['sources', 'list', '--address', ready.url])).code).toBe(4)

    const login = await shell.run(['login', '--profile', 'here', '--address', ready.url], { input: `${adminToken}\n` })
    expect(login.code).toBe(0)
    const path = join(shell.folder, 'config/postrider/profiles.json')
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ current: 'here' })

    expect(await shell.json(['sources', 'list'])).toMatchObject({ items: [{ name: 'Quickstart' }] })
    expect(await shell.json(['profiles', 'list'])).toEqual({
      items: [{ name: 'here', address: ready.url, hasToken: true, current: true }],
    })
    // The profile's token stays with its address.
    const elsewhere = await shell.run(['sources', 'list', '--address', ready.url.replace('127.0.0.1', 'localhost')])
    expect(elsewhere.code).toBe(4)
    expect((await shell.run(['sources', 'list', '--profile', 'none'])).code).toBe(5)
    // At a terminal the token is asked for, and not shown while it is typed.
    const typing = ['login', '--profile', 'typed', '--address', ready.url]
    const typed = await shell.atTerminal(typing, 'Token for', `${adminToken}\r`)
    expect(typed.code).toBe(0)
    expect(typed.shown).toContain('Logged in')
    expect(typed.shown).not.toContain(adminToken)
    expect((await shell.atTerminal(typing, 'Token for', '\x03')).code).toBe(130)
    const untyped = await shell.atTerminal(typing, 'Token for', '\x04')
    expect(untyped).toMatchObject({
      code: 2,
      shown: expect.stringMatching(/postrider: nothing was typed\s*$/) as unknown,
    })
    await shell.json(['profiles', 'use', 'here'])
    await shell.json(['profiles', 'remove', 'here'])
    expect((await shell.run(['profiles', 'use', 'here'])).code).toBe(5)
  })

  it('finds the address and the token of a node on the same machine by its data folder', async () => {
    const env = { POSTRIDER_DATA_DIR: dataDir }
    expect((await shell.run(['sources', 'list'], { env })).code).toBe(0)
  })
})

/** A new database, for tests that are skipped where PostgreSQL is not installed. */
const createDatabase = async (): Promise<string> => (await postgres?.createDatabase()) ?? ''
const onPostgres = it.skipIf(findPostgres() === undefined)

describe.concurrent('doctor', () => {
  let namespace: string
  beforeAll(async () => {
    namespace = await createNamespace()
  })
  const env = () => ({
    POSTRIDER_ADDRESS: ready.url,
    POSTRIDER_ADMIN_TOKEN: adminToken,
    POSTRIDER_ENCRYPTION_KEYS: encryptionKeys,
    TEMPORAL_ADDRESS: temporalAddress(),
    TEMPORAL_NAMESPACE: namespace,
  })
  const doctor = async (more: Record<string, string>): Promise<{ code: number | null; report: Report }> => {
    const { code, stdout } = await shell.run(['doctor', '--json'], { env: { ...env(), ...more } })
    return { code, report: JSON.parse(stdout) as Report }
  }
  const stateOf = ({ checks }: Report, name: string): string | undefined =>
    checks.find((check) => check.name === name)?.state

  onPostgres('finds nothing wrong with a node that is well', async () => {
    const { code, report } = await doctor({ DATABASE_URL: await createDatabase() })
    expect(report.checks.filter(({ state }) => state !== 'ok')).toEqual([])
    expect({ code, ok: report.ok }).toEqual({ code: 0, ok: true })
    for (const name of ['node', 'token', 'Temporal', 'database', 'keys', 'clock of PostgreSQL'])
      expect(stateOf(report, name)).toBe('ok')
  })

  it('tells a database, a Temporal, a key and an address that are wrong, and how to mend them', async () => {
    const broken = { DATABASE_URL: 'postgres://someone:a-password@127.0.0.1:1/none', TEMPORAL_ADDRESS: '127.0.0.1:1' }
    const { port } = new URL(ready.url)
    const [{ code, report }, away, taken] = await Promise.all([
      doctor(broken),
      doctor({ POSTRIDER_ENCRYPTION_KEYS: 'k1:short', POSTRIDER_ADDRESS: nowhere, PORT: port }),
      doctor({ POSTRIDER_ADDRESS: nowhere, PORT: port }),
    ])
    expect(code).toBe(1)
    const problems = report.checks.filter(({ state }) => state === 'problem')
    expect(problems.map(({ name }) => name).sort()).toEqual(['Temporal', 'database'])
    expect(problems.every(({ mend = '' }) => mend.length > 0)).toBe(true)
    expect(JSON.stringify(report)).not.toContain('a-password')

    expect([stateOf(away.report, 'settings'), stateOf(away.report, 'node')]).toEqual(['problem', 'problem'])
    expect(stateOf(taken.report, 'address')).toBe('problem')
  })

  it('finds keys that others can read', async () => {
    const folder = join(shell.folder, 'data')
    await mkdir(folder)
    await writeFile(join(folder, 'encryption-keys'), encryptionKeys)
    await chmod(join(folder, 'encryption-keys'), 0o644)
    const { report } = await doctor({
      POSTRIDER_DATA_DIR: folder,
      POSTRIDER_ENCRYPTION_KEYS: '',
      TEMPORAL_ADDRESS: '',
      TEMPORAL_NAMESPACE: '',
    })
    expect(stateOf(report, 'keys')).toBe('warning')
    expect(stateOf(report, 'data folder')).toBeDefined()
  })
})

describe.concurrent('migrate', () => {
  onPostgres('brings a database up to date, once', async () => {
    const env = { DATABASE_URL: await createDatabase() }
    const first = await shell.json<{ applied: string[] }>(['migrate'], { env })
    expect(first.applied).toContain('0001-settings')
    expect(await shell.json(['migrate'], { env })).toEqual({ applied: [] })
  })

  it('tells a database that does not answer from one that is not set', async () => {
    const away = await shell.run(['migrate'], { env: { DATABASE_URL: 'postgres://u:a-password@127.0.0.1:1/none' } })
    expect(away).toMatchObject({ code: 3 })
    expect(away.stderr).not.toContain('a-password')
    expect((await shell.run(['migrate'])).code).toBe(2)
    const unescaped = { DATABASE_URL: 'postgres://u:a/password@127.0.0.1/none' }
    const wrong = await shell.run(['migrate'], { env: unescaped })
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('escaped, as %23 %2F') as unknown })
    expect(wrong.stderr).not.toContain('a/password')
    const { stdout } = await shell.run(['doctor', '--json'], { env: unescaped })
    const { checks } = JSON.parse(stdout) as Report
    expect(checks.flatMap(({ name, found }) => (name === 'settings' ? found : []))).toEqual([
      expect.stringContaining('escaped, as %23 %2F'),
    ])
    expect(checks.map(({ name }) => name)).not.toContain('database')
  })
})

describe('the command', () => {
  it('ends with 2 for a wrong command line, 3 when nothing answers, 0 for help', async () => {
    const codes = await Promise.all(
      [
        ['nonsense'],
        ['send', 'shout'],
        ['sources', 'list', '--address', nowhere],
        ['sources', '--help'],
        ['--version'],
      ].map(async (args) => (await shell.run(args)).code),
    )
    expect(codes).toEqual([2, 2, 3, 0, 0])
  })

  it('tells a wrong command line as JSON where programs read', async () => {
    const wrong = [
      ['nonsense'],
      ['send', 'shout'],
      ['sources', 'list', '--colour'],
      ['sources'],
      ['start', '--port', '1'],
    ]
    const ends = await Promise.all(wrong.map((args) => shell.run([...args, '--json'])))
    for (const { code, stdout, stderr } of ends) {
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(JSON.parse(stderr)).toEqual({ success: false, code: 'usage', message: expect.any(String) as string })
    }
    const { stderr } = await shell.run(['sources', 'list', '--colour'])
    expect(stderr).toBe("postrider: unknown option '--colour'; see: postrider sources list --help\n")
  })

  it('ends well when its reader has seen enough', async () => {
    await using help = shell.start(['--help'])
    help.process.stdout.destroy()
    expect(await help.ended).toMatchObject({ code: 0, stderr: '' })
    await using group = shell.start(['sources'])
    group.process.stderr.destroy()
    expect((await group.ended).code).toBe(2)
  })

  it.runIf(process.platform === 'linux')('tells a full disk from a result that was written', async () => {
    const at = `--address ${ready.url} --token ${adminToken}`
    const lines = [
      `export ${at} > /dev/full`,
      `export ${at} --output /dev/full`,
      `sources list ${at} > /dev/full`,
      '--help > /dev/full',
    ]
    for (const line of lines) {
      const { code, stderr } = await shell.sh(`postrider ${line}`)
      expect([line, code]).toEqual([line, 1])
      expect(stderr).toMatch(/^postrider: .*cannot be written: ENOSPC: .*\n$/)
    }
    const nowhereToWrite = await shell.sh(`postrider export ${at} --output none/settings.yaml`)
    expect(nowhereToWrite.code).toBe(2)
    expect(nowhereToWrite.stderr).toMatch(/^postrider: none\/settings\.yaml cannot be written: ENOENT: .*\n$/)
  })

  it('completes commands and options', async () => {
    const [words, options, ...scripts] = await Promise.all(
      [['--', 'deliveries', 're'], ['--', 'deliveries', 'list', '--sta'], ['bash'], ['zsh'], ['fish']].map((args) =>
        shell.run(['complete', ...args]),
      ),
    )
    for (const { code, stdout } of scripts) {
      expect(code).toBe(0)
      expect(stdout).toContain('postrider')
    }
    expect(words?.stdout).toMatch(/^retry\b/m)
    expect(words?.stdout).toMatch(/^redeliver\b/m)
    expect(options?.stdout).toMatch(/^--status\b/m)
  })

  it('has the exit codes that the documentation lists', async () => {
    const page = await readFile(resolve(import.meta.dirname, '../../docs/command.md'), 'utf8')
    const listed = [...page.matchAll(/^\| (\d+) +\| `(\w+)`/gm)].map(([, exit, code]) => [Number(exit), code])
    const known = Object.entries(exitCodes) as [Failure.ExitCode, number][]
    expect(listed).toEqual(known.map(([name, exit]) => [exit, codes[name]]))
  })

  it('gives a node more threads than four, as its thread pool starts, and no other command', async () => {
    const probe = join(shell.folder, 'probe.cjs')
    await writeFile(
      probe,
      `setTimeout(() => {
         for (let i = 0; i < 40; i++) require('node:crypto').pbkdf2('a', 'b', 50000, 64, 'sha512', () => {})
         setTimeout(() => console.log('threads:' + require('node:fs').readdirSync('/proc/self/task').length), 20)
       }, 500)`,
    )
    const threads = async (word: string, env: Record<string, string> = {}): Promise<number> => {
      const { stdout } = await shell.run([word, '--help'], { env: { NODE_OPTIONS: `--require=${probe}`, ...env } })
      return Number(/threads:(\d+)/.exec(stdout)?.[1])
    }
    const [start = 0, told = 0, send = 0] = await Promise.all([
      threads('start'),
      threads('start', { UV_THREADPOOL_SIZE: '4' }),
      threads('send'),
    ])
    expect([start - told, start - send]).toEqual([12, 12])
  })
})

describe('start', () => {
  it('says where everything is', async () => {
    expect((await fetch(`${ready.url}/readyz`)).status).toBe(200)
    expect((await fetch(ready.temporalUiUrl ?? '')).status).toBe(200)
    const session = await fetch(`${ready.url}/api/v1/session`, { headers: { authorization: `Bearer ${adminToken}` } })
    expect(await session.json()).toMatchObject({ role: 'admin' })
    const text = startUpText(ready)
    for (const fact of [ready.url, ready.loginUrl, ready.temporalUiUrl, ready.quickstart?.receiverUrl])
      expect(text).toContain(fact)
  })

  it('gives a line that sends the first event, and tells what the Quickstart receiver gets', async () => {
    const { stdout } = await promisify(execFile)('sh', ['-c', ready.quickstart?.curl ?? 'false'])
    expect(JSON.parse(stdout)).toMatchObject({ success: true })
    const received = JSON.parse(await node.line('"genuine"')) as ReceivedEvent
    // As the README shows it.
    expect(receivedLine({ ...received, at: '2026-01-01T12:00:01.000Z' })).toBe(
      '12:00:01  track Hello by u1, signature valid',
    )
    expect(received).toMatchObject({
      type: 'track',
      event: 'Hello',
      userId: 'u1',
      genuine: true,
      status: 200,
    })
  })

  it('shows no token that was configured', async () => {
    const { url } = ready
    const app = { url, ingestUrl: url, adminToken: 'configured', temporal: {}, quickstart: undefined }
    const facts = readyFacts(app as never, { madeToken: false })
    expect(facts).toEqual({ url, ingestUrl: url, loginUrl: null, temporalUiUrl: null, quickstart: null })
    expect(startUpText(facts)).not.toContain('configured')
    expect(startUpText(facts)).not.toContain('Ingest API')
    expect(startUpText(facts)).toContain('postrider send track')
    expect(startUpText({ ...facts, role: 'worker' })).not.toContain('postrider send track')
    expect(startUpText({ ...facts, ingestUrl: 'http://ingest.test' })).toContain('http://ingest.test')
  })

  // Each start ends where its roles lack something.
  it.each([
    ['all', 'worker', 'POSTRIDER_ADMIN_TOKEN must be set when Temporal is not the embedded one'],
    ['worker', 'api,worker', 'POSTRIDER_ROLES must be api,worker with the embedded database'],
  ])('--role %s outranks POSTRIDER_ROLES=%s', async (role, POSTRIDER_ROLES, reason) => {
    const env = { POSTRIDER_ROLES, TEMPORAL_ADDRESS: '127.0.0.1:1', POSTRIDER_ADMIN_TOKEN: '' }
    const { code, stderr } = await shell.run(['start', '--role', role], { env })
    expect([code, stderr]).toEqual([1, expect.stringContaining(reason)])
  })

  it('tells as JSON why it cannot start', async () => {
    const second = await shell.run(['start', '--json'], { env: { POSTRIDER_DATA_DIR: dataDir, PORT: '0' } })
    expect(second).toMatchObject({ code: 1, stdout: '' })
    expect(JSON.parse(second.stderr)).toEqual({
      success: false,
      code: 'failed',
      message: expect.stringContaining(dataDir) as string,
    })
  })

  it('ends with 0 when it is interrupted, and has printed nothing but JSON', async () => {
    const { code, stdout } = await node.interrupt()
    expect(code).toBe(0)
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => Object.keys(JSON.parse(line) as object)[0]),
    ).toEqual(['url', 'at'])
  })
})
