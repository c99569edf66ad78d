/** What is kept of an attempt, compared with what a receiver got and answered. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { evidenceOf, maxEvidenceBytes, showEvidence, type Evidence } from '../../src/delivery/evidence.ts'
import { messageRequest, type OutboundMessage } from '../../src/delivery/post-message.ts'
import { createSender, type Sender } from '../../src/delivery/send.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'

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

const at = new Date('2030-01-01T00:00:00.400Z')
const body = '{"type":"track"}'

async function attempt(
  { headers = {}, ...more }: Partial<OutboundMessage['endpoint']> = {},
  { maxBytes = maxEvidenceBytes, secrets = [{ secret: 'older', until: null }] as OutboundMessage['secrets'] } = {},
) {
  const endpoint = { url: receiver.url, headers, ...more }
  const request = messageRequest({ messageId: 'a message ✓', body, endpoint, secrets, at })
  const outcome = await sender.send(request)
  const text = evidenceOf(request, outcome, maxBytes)
  return {
    text,
    outcome,
    sent: receiver.requests.at(-1),
    ...showEvidence(JSON.parse(text) as Evidence, 'a message ✓', at),
  }
}

/** As a receiver names them, without those of the connection. */
const lowerCase = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
const ofConnection = ['host', 'connection', 'content-length']

describe('the request', () => {
  it.each<[string, Partial<OutboundMessage['endpoint']>]>([
    ['of most endpoints', {}],
    ['of one with options', { method: 'PUT', contentType: 'form' }],
  ])('%s is told as it arrived', async (_, endpoint) => {
    receiver.answer({})
    const secrets = [
      { secret: 'newer', until: null },
      { secret: 'older', until: null },
    ]
    const { request, sent } = await attempt(endpoint, { secrets })
    const arrived = Object.entries(sent?.headers ?? {}).filter(([name]) => !ofConnection.includes(name))
    expect(lowerCase(request.headers)).toEqual(Object.fromEntries(arrived))
    expect(request.method).toBe(sent?.method)
    expect(request.contentType).toBe(endpoint.contentType ?? 'json')
  })

  it('has names of the endpoint’s own headers, and none of their values', async () => {
    receiver.answer({})
    const { text, request, isCut } = await attempt({ headers: { 'X-Api-Key': 'a header secret', Cookie: 'c=1' } })
    expect(request.headers).toMatchObject({ 'X-Api-Key': '********', Cookie: '********' })
    expect(text).not.toContain('a header secret')
    expect(isCut).toBe(false)
  })

  it('is not signed where it was not', async () => {
    receiver.answer({})
    const { request } = await attempt({}, { secrets: [] })
    expect(request.headers).toEqual({ 'User-Agent': 'Postrider/1.0', 'Content-Type': 'application/json' })
  })
})

describe('the answer', () => {
  it('of a success is kept with the beginning of its body', async () => {
    receiver.answer({
      status: 202,
      body: 'taken,\n thank you',
      headers: { 'X-Request-Id': 'r-1', 'set-cookie': ['a=1', 'b=2'] },
    })
    const { answer, excerpt } = await attempt()
    expect(excerpt).toBe('taken, thank you')
    expect(answer).toEqual(
      expect.arrayContaining([
        { name: 'x-request-id', value: 'r-1' },
        { name: 'set-cookie', value: '********' },
      ]),
    )
    expect(answer?.filter(({ name }) => name === 'set-cookie')).toHaveLength(2)
  })

  it('of a failure as well, without what it echoes of the endpoint’s own headers', async () => {
    receiver.answer((request) => ({
      status: 500,
      body: `wrong key ${String(request.headers['x-key'])}`,
      headers: { 'x-echo': `key ${String(request.headers['x-key'])}` },
    }))
    const { text, answer, excerpt } = await attempt({ headers: { 'X-Key': 'not-to-be-read' } })
    expect(answer).toContainEqual({ name: 'x-echo', value: 'key [hidden]' })
    expect(excerpt).toBe('wrong key [hidden]')
    expect(text).not.toContain('not-to-be-read')
  })

  it('is waited for where a success comes in two parts', async () => {
    receiver.answer({ body: 'the beginning', bodyDelayMs: 60_000 })
    expect(await attempt()).toMatchObject({ outcome: { kind: 'delivered' }, excerpt: 'the beginning' })
  })

  it('is absent where there was none', async () => {
    receiver.answer('reset')
    expect(await attempt()).toMatchObject({ outcome: { kind: 'unavailable' }, answer: undefined, excerpt: undefined })
  })
})

describe('bounds', () => {
  const long = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`x-long-${n}`, '"'.repeat(200)]))

  it.each([maxEvidenceBytes, 2_000, 524])('hold for %s bytes, whatever is answered', async (maxBytes) => {
    const names = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`X-${'n'.repeat(200)}-${n}`, 'v']))
    receiver.answer({ status: 500, headers: long, body: '"'.repeat(3_000) })
    const { text, isCut, request } = await attempt({ headers: names }, { maxBytes })
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxBytes + 384)
    expect(isCut).toBe(true)
    expect(request.headers['X-Signature']).toMatch(/^[0-9a-f]{40}$/)
  })

  it('leave the first headers of an answer that has too many', async () => {
    const many = Object.fromEntries(Array.from({ length: 90 }, (_, n) => [`x-${n}`, String(n)]))
    receiver.answer({ headers: many })
    const { answer, isCut } = await attempt()
    expect(answer).toHaveLength(50)
    expect(answer?.[0]).toEqual({ name: 'x-0', value: '0' })
    expect(isCut).toBe(true)
  })
})
