import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSender } from '../../src/delivery/send.ts'
import type { Sender } from '../../src/delivery/send.ts'
import { startReceiver } from '../support/receiver.ts'
import type { Receiver } from '../support/receiver.ts'

const body = '{"type":"track","event":"Käse"}'
const headers = { 'User-Agent': 'Postrider/1.0', 'Content-Type': 'application/json' }

describe('send', () => {
  let receiver: Receiver
  let sender: Sender

  beforeAll(async () => {
    receiver = await startReceiver()
    sender = createSender({ allowedNetworks: ['127.0.0.0/8'] })
  })
  afterAll(async () => {
    await sender.close()
    await receiver.close()
  })

  const send = (path = '/', own: Record<string, string> = {}) =>
    sender.send({ url: receiver.url + path, headers: { ...headers, ...own }, body })

  it('posts the bytes and headers to the path and query of the URL', async () => {
    receiver.answer({})
    expect(await send('/hooks/a%20b?x=1&y=%C3%A9#part')).toMatchObject({ kind: 'delivered', status: 200 })
    expect(receiver.requests.at(-1)).toMatchObject({
      method: 'POST',
      path: '/hooks/a%20b?x=1&y=%C3%A9',
      body: Buffer.from(body),
    })
    const sent = receiver.requests.at(-1)?.headers
    expect(sent).toMatchObject({
      host: `127.0.0.1:${receiver.port}`,
      'user-agent': 'Postrider/1.0',
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    })
    expect(Object.keys(sent ?? {}).sort()).toEqual([
      'connection',
      'content-length',
      'content-type',
      'host',
      'user-agent',
    ])
  })

  it('carries Latin-1 header values byte for byte', async () => {
    const value = String.fromCharCode(...Array.from({ length: 0xff - 0x80 + 1 }, (_, index) => 0x80 + index))
    await send('/', { 'X-Name': `Zo\xeb ${value}` })
    const raw = receiver.requests.at(-1)?.rawHeaders ?? []
    expect(Buffer.from(raw[raw.indexOf('X-Name') + 1] ?? '', 'latin1')).toEqual(
      Buffer.from(`Zo\xeb ${value}`, 'latin1'),
    )
  })

  it.each([200, 201, 202, 204, 299])('counts %i as delivered', async (status) => {
    receiver.answer({ status })
    expect(await send()).toEqual({
      kind: 'delivered',
      status,
      durationMs: expect.any(Number) as number,
      answerHeaders: expect.arrayContaining([['date', expect.any(String)]]) as unknown,
    })
  })

  it.each([500, 502, 503, 504, 599, 408, 425, 429])('counts %i as a failure that may pass', async (status) => {
    receiver.answer({ status })
    expect(await send()).toMatchObject({ kind: 'unavailable', code: 'http_status', status })
  })

  it.each([400, 401, 403, 404, 405, 410, 413, 422, 451])('counts %i as final', async (status) => {
    receiver.answer({ status })
    expect(await send()).toMatchObject({ kind: 'rejected', code: 'http_status', status })
  })

  it.each([300, 301, 302, 303, 304, 307, 308])('does not follow %i and counts it as final', async (status) => {
    await using target = await startReceiver()
    const location = `${target.url}/users/u1?mail=u1@example.com`
    receiver.answer({ status, headers: { location } })
    const outcome = await send()
    expect(outcome).toMatchObject({ kind: 'rejected', code: 'redirect', status })
    expect(outcome).toHaveProperty('reason', expect.stringContaining(` to ${target.url}. Redirects`))
    expect(outcome.answerHeaders).toContainEqual(['location', location])
    receiver.answer({})
    expect(await send()).toMatchObject({ kind: 'delivered' })
    expect(target.connections()).toBe(0)
  })

  it('repeats no more of the host of a redirect than a reason has room for', async () => {
    receiver.answer({ status: 301, headers: { location: `https://${'a'.repeat(5_000)}.example/` } })
    const outcome = await send()
    expect(outcome).toHaveProperty('reason', expect.stringContaining(' to https://aaa'))
    expect((outcome as { reason: string }).reason.length).toBeLessThan(400)
  })

  it.each(['/users/u1', 'users/u1', '//[u1', 'mailto:u1@example.com', 'app://u1/in', ''])(
    'repeats nothing of a redirect to %j, which names no host',
    async (location) => {
      receiver.answer({ status: 301, headers: { location } })
      expect(await send()).toHaveProperty('reason', expect.stringContaining('301 Moved Permanently. Redirects'))
    },
  )

  it('names status and duration and shows the beginning of the answer, cleaned and at most 1 KB', async () => {
    receiver.answer({ status: 500, body: `no\u0000\u001b[31m such\r\n\ttable\u202e ${'é'.repeat(2000)}` })
    const outcome = await send()
    expect(outcome).toMatchObject({ status: 500, reason: 'The endpoint answered 500 Internal Server Error.' })
    const excerpt = outcome.kind === 'delivered' ? '' : (outcome.excerpt ?? '')
    expect(excerpt).toMatch(/^no \[31m such table é+$/)
    expect(Buffer.byteLength(excerpt)).toBeLessThanOrEqual(1024)
    expect(Buffer.byteLength(excerpt)).toBeGreaterThan(1020)
  })

  it('hides the values of the endpoint’s own headers in the excerpt', async () => {
    receiver.answer(({ rawHeaders }) => ({ status: 403, body: `bad token in ${rawHeaders.join(' ')}` }))
    const outcome = await send('/', { Authorization: 'Bearer s3cr3t-t0ken', 'X-Key': 'k-123456789' })
    expect(outcome).toHaveProperty(
      'excerpt',
      expect.stringMatching(
        /^bad token in .* Content-Type application\/json Authorization \[hidden\] X-Key \[hidden\]/,
      ),
    )
  })

  it.each([
    [429, '3', 3000],
    [503, '0', 0],
    [503, '99999999999', 24 * 60 * 60 * 1000],
  ])('hands on Retry-After of %i: %s', async (status, value, retryAfterMs) => {
    receiver.answer({ status, headers: { 'retry-after': value } })
    expect(await send()).toMatchObject({ kind: 'unavailable', retryAfterMs })
  })

  it('hands on Retry-After as a date', async () => {
    receiver.answer({ status: 503, headers: { 'retry-after': new Date(Date.now() + 60_000).toUTCString() } })
    const outcome = await send()
    expect(outcome).toHaveProperty(
      'retryAfterMs',
      expect.toSatisfy((ms: number) => ms > 30_000 && ms <= 60_000),
    )
  })

  it('ignores Retry-After of other answers', async () => {
    receiver.answer({ status: 500, headers: { 'retry-after': '3' } })
    expect(await send()).not.toHaveProperty('retryAfterMs')
  })

  it('counts a reset connection as a failure that may pass', async () => {
    receiver.answer('reset')
    expect(await send()).toMatchObject({ kind: 'unavailable', code: 'connection_reset' })
  })

  it('counts a refused connection as a failure that may pass', async () => {
    const gone = await startReceiver()
    await gone.close()
    expect(await sender.send({ url: gone.url, headers, body })).toMatchObject({
      kind: 'unavailable',
      code: 'connection_refused',
    })
  })

  it('counts a name that does not resolve as a failure that may pass', async () => {
    // A label over 63 characters: the resolver refuses it without asking anyone.
    const url = `http://${'a'.repeat(64)}.example/`
    expect(await sender.send({ url, headers, body })).toMatchObject({ kind: 'unavailable', code: 'dns_failure' })
  })

  it.each([
    ['something that is not HTTP', Buffer.from('SSH-2.0-OpenSSH_9.2\r\n')],
    ['a head of 20 KB', Buffer.from(`HTTP/1.1 200 OK\r\nx-big: ${'a'.repeat(20 * 1024)}\r\n\r\n`)],
  ])('does not take %s for an answer', async (_what, raw) => {
    receiver.answer({ raw })
    expect(await send()).toMatchObject({ kind: 'unavailable', code: 'invalid_response' })
  })

  it('waits for the final answer after an informational one', async () => {
    const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'
    receiver.answer({ raw: Buffer.from(`${hints}HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n`) })
    expect(await send()).toMatchObject({ kind: 'rejected', status: 404 })
  })

  it('refuses headers that cannot be sent', async () => {
    expect(await send('/', { 'X-Bad': 'a\r\nb: c' })).toMatchObject({ kind: 'rejected', code: 'invalid_request' })
  })

  it('refuses to work after it was closed', async () => {
    const other = createSender({ allowedNetworks: ['127.0.0.0/8'] })
    await other.close()
    await expect(other.send({ url: receiver.url, headers, body })).rejects.toThrow(
      expect.objectContaining({ name: 'AbortError' }) as Error,
    )
  })
})
