/** How programs end that use the library: promptly, and without losing what they called. */

import { describe, expect, it, onTestFinished } from 'vitest'
import { startIngestServer } from './support/ingest-server.ts'
import { runProgram } from './support/run-program.ts'

async function startServer() {
  const server = await startIngestServer()
  onTestFinished(() => server.stop())
  return server
}

const open = (options = '') => `
  import { Analytics } from '@postrider/analytics'
  const analytics = new Analytics('key', { endpoint: process.env.ENDPOINT, flushAfter: 3_600_000, ${options} })
`

describe('a program', () => {
  it('that just ends delivers first, and does not wait for flushAfter', async () => {
    const server = await startServer()
    const program = runProgram(`${open()} analytics.identify({ userId: 'u1' })`, { ENDPOINT: server.url })
    expect(await program.ended).toEqual({ code: 0, signal: null, output: '' })
    expect(server.messages()).toMatchObject([{ userId: 'u1' }])
  })

  it('that just ends delivers through a failure that passes', async () => {
    const server = await startServer()
    server.answers.push({ status: 503 })
    const program = runProgram(`${open()} analytics.identify({ userId: 'u1' })`, { ENDPOINT: server.url })
    expect(await program.ended).toEqual({ code: 0, signal: null, output: '' })
    expect(server.messages()).toMatchObject([{ userId: 'u1' }])
  })

  it('that awaits flush() goes on after it', async () => {
    const server = await startServer()
    server.answers.push({ status: 503 })
    const source = `${open()} analytics.identify({ userId: 'u1' }); await analytics.flush(); console.log('flushed')`
    expect(await runProgram(source, { ENDPOINT: server.url }).ended).toMatchObject({ code: 0, output: 'flushed\n' })
  })

  it('that calls process.exit is told what was lost', async () => {
    const server = await startServer()
    const onError = 'onError: ({ code, messages }) => console.log(code, messages.length)'
    const source = `${open(onError)} analytics.identify({ userId: 'u1' }); process.exit(3)`
    expect(await runProgram(source, { ENDPOINT: server.url }).ended).toMatchObject({ code: 3, output: 'closed 1\n' })
  })

  it.each(['SIGTERM', 'SIGINT'] as const)('with flushOnSignals delivers at %s, and then dies of it', async (signal) => {
    const server = await startServer()
    const source = `${open('flushOnSignals: true')}
      const second = new Analytics('key', { endpoint: process.env.ENDPOINT, flushOnSignals: true })
      for (const client of [analytics, second]) client.identify({ userId: 'u1' })
      setInterval(() => {}, 1_000)
      console.log('ready')`
    const program = runProgram(source, { ENDPOINT: server.url })
    await program.printed('ready')
    program.process.kill(signal)
    expect(await program.ended).toMatchObject({ signal })
    expect(server.messages()).toHaveLength(2)
  })

  it('run with DEBUG=analytics shows what is sent and what fails, but neither bodies nor the write key', async () => {
    const server = await startServer()
    server.answers.push({ status: 503 })
    const source = `${open().replace("'key'", "'secret-key'")} analytics.identify({ userId: 'secret-user' })`
    const { output } = await runProgram(source, { ENDPOINT: server.url, DEBUG: 'http,analytics' }).ended
    expect(output).toMatch(/^analytics attempt 1 failed: the server answered 503; next in \d+ ms\nanalytics sent 1, /)
    expect(output).not.toContain('secret')
  })

  it.each([
    ['*', true],
    ['http,*', true],
    ['*,-http', true],
    ['*,-analytics', false],
    ['http', false],
    ['-analytics', false],
    ['', false],
  ])('run with DEBUG=%s is %s to be told', async (DEBUG, isTold) => {
    const server = await startServer()
    const { output } = await runProgram(`${open()} analytics.identify({ userId: 'u1' })`, {
      ENDPOINT: server.url,
      DEBUG,
    }).ended
    expect(output.includes('analytics sent 1, ')).toBe(isTold)
  })

  it('hears of a close that had no time why nothing was delivered', async () => {
    const server = await startServer()
    for (let n = 0; n < 50; n++) server.answers.push({ status: 503 })
    const source = `${open()} analytics.identify({ userId: 'u1' })
      await analytics.close({ timeoutMs: 3_000 })`
    const { output } = await runProgram(source, { ENDPOINT: server.url, DEBUG: 'analytics' }).ended
    expect(output).toContain('dropped 1: closed, closed before delivery: the server answered 503')
  })
})
