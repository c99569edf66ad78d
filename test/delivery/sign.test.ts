import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { encodeBody } from '../../src/delivery/body.ts'
import { signatureHeaders } from '../../src/delivery/sign.ts'

const message = {
  version: 1,
  type: 'track',
  userId: 'u1',
  event: 'Käse gekauft',
  properties: { price: 9.5, tags: ['ö', '€'] },
  timestamp: '2026-01-02T03:04:05.678Z',
  context: {},
} as const
const body = encodeBody(message)
const at = new Date('2026-01-02T03:04:05.678Z')

/** What the library refuses as base64 stands for its own bytes. */
const signerOfLibrary = (secret: string): Webhook => {
  try {
    return new Webhook(secret)
  } catch {
    return new Webhook(Buffer.from(secret, 'utf8'), { format: 'raw' })
  }
}

describe('signatures', () => {
  // openssl dgst -sha1 -mac HMAC over the 165 bytes, and -sha256 over `msg-1.1767323045.` and the bytes.
  it.each([
    ['topsecret', '701c1c0487ad6656cab33c6a5e681bc0e3b0970f', 'sM/BSAQcrd9VwcfsTkQVQKada2LSfgmMXpBRsds0VN0='],
    ['schlüssel €', '44b6ff4282265c404a8a07f982a865dffb31df35', '34dt3GzCLZyEJ5BWlA3T5WIK48Bl1WE4g2XrVtrU0E4='],
    [
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      '3160e445a3fa81424640f1aaa4859aff8780ca88',
      'RYRUh2h96ZZ0QTUsvBwmUJF9uOMN8vxHk7qLRqxp8ho=',
    ],
  ])('made with %s are those that openssl makes', (secret, sha1, sha256) => {
    expect(Buffer.byteLength(body)).toBe(165)
    expect(signatureHeaders({ secrets: [secret], messageId: 'msg-1', body, at })).toEqual({
      'X-Signature': sha1,
      'webhook-id': 'msg-1',
      'webhook-timestamp': '1767323045',
      'webhook-signature': `v1,${sha256}`,
    })
  })

  it('are those of the published example of Standard Webhooks', () => {
    const headers = signatureHeaders({
      secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
      messageId: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      body: '{"test": 2432232314}',
      at: new Date(1614265330 * 1000),
    })
    expect(headers['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
  })

  it('verify with the parsed and re-serialized body, as receivers do it', () => {
    const headers = signatureHeaders({ secrets: ['topsecret'], messageId: 'm', body, at })
    const reserialized = JSON.stringify(JSON.parse(body))
    expect(createHmac('sha1', 'topsecret').update(reserialized).digest('hex')).toBe(headers['X-Signature'])
  })

  it.each([
    ['a plain secret as whsec_ and base64', 'schlüssel €', `whsec_${Buffer.from('schlüssel €').toString('base64')}`],
    ['a whsec_ secret as it is', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    [
      'a secret that only looks like one',
      'whsec_not base64!',
      `whsec_${Buffer.from('whsec_not base64!').toString('base64')}`,
    ],
  ])('verify with the Standard Webhooks library and %s', (_what, secret, receiverSecret) => {
    const now = new Date()
    const headers = signatureHeaders({ secrets: [secret], messageId: 'msg-1', body, at: now })
    expect(new Webhook(receiverSecret).verify(body, headers)).toEqual(message)
    const tampered = body.replace('9.5', '0.5')
    expect(() => new Webhook(receiverSecret).verify(tampered, headers)).toThrow('No matching signature')
  })

  it('are those of the Standard Webhooks library, whatever follows whsec_', () => {
    const rest = fc.string({ unit: fc.constantFrom(...'Aaz09+/==-ä '), maxLength: 12 })
    fc.assert(
      fc.property(rest, (text) => {
        // The library does not look at a character that is left over.
        fc.pre(!/^(.{4})+[^A-Za-z0-9+/]={0,2}$/.test(text))
        const secret = `whsec_${text}`
        const { 'webhook-signature': signature } = signatureHeaders({ secrets: [secret], messageId: 'msg-1', body, at })
        expect(signature).toBe(signerOfLibrary(secret).sign('msg-1', at, body))
      }),
      { numRuns: 1_000, examples: ['A', 'AAA', 'AAAA', 'AAAAA', 'AA==', 'AA====', '====', ''].map((text) => [text]) },
    )
  })

  it('verify with the old secret beside the new one while a secret is rotated', () => {
    const headers = signatureHeaders({ secrets: ['new', 'old'], messageId: 'msg-1', body, at: new Date() })
    for (const secret of ['new', 'old']) {
      expect(new Webhook(secret, { format: 'raw' }).verify(body, headers)).toEqual(message)
    }
    expect(() => new Webhook('other', { format: 'raw' }).verify(body, headers)).toThrow()
    expect(headers['X-Signature']).toBe(createHmac('sha1', 'old').update(body).digest('hex'))
  })

  it('carry any message id, as visible ASCII', () => {
    const messageId = 'id ä€\r\n\ud800😀'
    const headers = signatureHeaders({ secrets: ['s'], messageId, body, at: new Date() })
    expect(headers['webhook-id']).toBe('id%20%C3%A4%E2%82%AC%0D%0A%EF%BF%BD%F0%9F%98%80')
    expect(new Webhook('s', { format: 'raw' }).verify(body, headers)).toEqual(message)
  })

  it('are absent without a secret', () => {
    expect(signatureHeaders({ secrets: [], messageId: 'm', body, at })).toEqual({})
  })
})
