/** The package as npm publishes it, installed into an empty project, in programs that Deno and Bun run. */

import { createHmac } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { createCertificates } from '../../../test/support/certificates.ts'
import { makeFreshProject, type FreshProject } from '../support/fresh-project.ts'
import { startIngestServer, type IngestServer } from '../support/ingest-server.ts'
import { launch, type Program } from '../support/run-program.ts'

const HOUR = 3_600_000

let project: FreshProject
beforeAll(async () => {
  project = await makeFreshProject()
})
afterAll(() => project.remove())

/** Arguments before the program's file. */
const runtimes = [
  ['deno', ['run', '--allow-all', '--no-prompt', '--quiet']],
  ['bun', ['run', '--no-install']],
] as const

async function startServer(tls?: { key: string; cert: string }): Promise<IngestServer> {
  const server = await startIngestServer(tls)
  onTestFinished(() => server.stop())
  return server
}

const open = (options = '') => `
  import { Analytics } from '@postrider/analytics'
  const analytics = new Analytics('key', { endpoint: process.env.ENDPOINT, flushAfter: ${HOUR}, ${options} })
`

describe.each(runtimes)('a program of %s', (name, args) => {
  const run = (source: string, env: Record<string, string> = {}): Program => {
    const folder = mkdtempSync(join(project.folder, 'program-'))
    const file = join(folder, 'program.mjs')
    writeFileSync(file, source)
    const quiet = { DENO_DIR: join(folder, 'deno'), DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1' }
    return launch(inject('runtimes')[name], [...args, file], { ...quiet, ...env }, project.folder)
  }

  it('delivers what the first example of the README calls', async () => {
    const server = await startServer()
    const env = { POSTRIDER_URL: server.url, POSTRIDER_WRITE_KEY: 'key', DEBUG: 'analytics' }
    const { code, output } = await run(await project.readmeExample(), env).ended
    expect({ code, output }).toEqual({ code: 0, output: 'analytics sent 2, rejected 0\n' })
    expect(server.messages()).toMatchObject([
      { type: 'identify', userId: 'user-1', traits: { plan: 'pro' } },
      { type: 'track', userId: 'user-1', event: 'Order Completed', properties: { total: 12.5 } },
    ])
    expect(server.requests[0]?.headers.authorization).toBe(`Basic ${Buffer.from('key:').toString('base64')}`)
  })

  it('that just ends delivers in order and compressed, through failures that pass', async () => {
    const server = await startServer()
    server.answers.push({ status: 503 }, 'cut', 'hang')
    const source = `${open('requestTimeoutMs: 3_000')}
      for (let i = 0; i < 5_000; i++) analytics.track({ userId: 'u1', event: String(i) })`
    expect(await run(source, { ENDPOINT: server.url }).ended).toEqual({ code: 0, signal: null, output: '' })
    expect(server.messages().map(({ event }) => event)).toEqual(Array.from({ length: 5_000 }, (_, i) => String(i)))
    expect(new Set(server.requests.map(({ headers }) => headers['content-encoding']))).toEqual(new Set(['gzip']))
  })

  it('that calls process.exit is told what was lost', async () => {
    const server = await startServer()
    const onError = 'onError: ({ code, messages }) => console.log(code, messages.length)'
    const source = `${open(onError)} analytics.identify({ userId: 'u1' }); process.exit(3)`
    expect(await run(source, { ENDPOINT: server.url }).ended).toMatchObject({ code: 3, output: 'closed 1\n' })
  })

  it.each(['SIGTERM', 'SIGINT'] as const)('with flushOnSignals delivers at %s, and then dies of it', async (signal) => {
    const server = await startServer()
    const source = `${open('flushOnSignals: true')}
      analytics.identify({ userId: 'u1' })
      setInterval(() => {}, 1_000)
      console.log('ready')`
    const program = run(source, { ENDPOINT: server.url })
    await program.printed('ready')
    program.process.kill(signal)
    expect(await program.ended).toMatchObject({ signal })
    expect(server.messages()).toHaveLength(1)
  })

  it('leaves what it had queued when it was killed to the next one, by the spool', async () => {
    const server = await startServer()
    const env = { ENDPOINT: server.url, SPOOL: mkdtempSync(join(project.folder, 'spool-')) }
    const spooling = open('flushAt: 1e9, spoolDir: process.env.SPOOL')
    const killed = run(
      `${spooling}
      for (let i = 0; i < 1_000; i++) analytics.track({ userId: 'u1', event: String(i) })
      console.log('queued')
      setInterval(() => {}, 1_000)`,
      env,
    )
    await killed.printed('queued')
    killed.process.kill('SIGKILL')
    await killed.ended
    expect(server.requests).toEqual([])
    expect(await run(`${spooling} await analytics.close()`, env).ended).toMatchObject({ code: 0, output: '' })
    expect(server.messages().map(({ event }) => event)).toEqual(Array.from({ length: 1_000 }, (_, i) => String(i)))
  })

  it('trusts no server whose certificate it cannot check', async () => {
    const { authority, valid } = await createCertificates()
    const server = await startServer(valid)
    const file = join(mkdtempSync(join(project.folder, 'authority-')), 'ca.pem')
    writeFileSync(file, authority)
    const onError = 'maxRetries: 0, onError: ({ code }) => console.log(code)'
    const source = `${open(onError)} analytics.identify({ userId: process.env.USER_ID }); await analytics.close()`
    const env = { ENDPOINT: server.url, USER_ID: 'u1' }
    expect(await run(source, env).ended).toMatchObject({ code: 0, output: 'gave_up\n' })
    const trusting = { ...env, NODE_EXTRA_CA_CERTS: file, DENO_CERT: file }
    expect(await run(source, trusting).ended).toMatchObject({ code: 0, output: '' })
    expect(server.messages()).toHaveLength(1)
  })

  it('receives deliveries with its own server', async () => {
    const program = run(
      `import { fetchReceiver } from '@postrider/analytics/receiver'
      const handle = fetchReceiver({ secret: 'the secret', onMessage: ({ event }) => console.log('got', event) })
      const port = globalThis.Deno
        ? Deno.serve({ port: 0, hostname: '127.0.0.1', onListen() {} }, handle).addr.port
        : Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: handle }).port
      console.log('port ' + port + ' open')`,
    )
    await program.printed('open')
    const url = `http://127.0.0.1:${/port (\d+)/.exec(program.output())?.[1] ?? ''}`
    const body = '{"type":"track","event":"Bückware gekauft"}'
    const post = async (signed: string) => {
      const signature = createHmac('sha1', 'the secret').update(signed).digest('hex')
      return (await fetch(url, { method: 'POST', headers: { 'X-Signature': signature }, body })).status
    }
    expect([await post(`${body} `), await post(body)]).toEqual([401, 204])
    await program.printed('got Bückware gekauft')
    program.process.kill('SIGKILL')
    await program.ended
  })
})
