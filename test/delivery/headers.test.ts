import { describe, expect, it } from 'vitest'
import { headerProblem, maxHeaderNameLength, requestHeaders } from '../../src/delivery/headers.ts'

describe('static headers', () => {
  it.each([
    ['Authorization', 'Bearer abc'],
    ['X-Empty', ''],
    ['x_y.z!', 'a "quoted" value, with; all/of=it'],
    ['X-Latin', 'Zo\xeb \x80\xff'],
    ['Accept', '*/*'],
    ['X'.repeat(maxHeaderNameLength), 'v'],
  ])('may be %s: %s', (name, value) => {
    expect(headerProblem(name, value)).toBeUndefined()
  })

  it.each([
    ...['Host', 'Content-Length', 'Transfer-Encoding', 'Connection', 'Keep-Alive', 'Expect', 'Upgrade'],
    ...['TE', 'Trailer', 'Proxy-Authorization', 'proxy-connection'],
    ...['User-Agent', 'Content-Type', 'X-Signature', 'webhook-id', 'Webhook-Timestamp', 'WEBHOOK-SIGNATURE'],
  ])('may not be %s, in any case', (name) => {
    for (const spelled of [name, name.toLowerCase(), name.toUpperCase()]) {
      expect(headerProblem(spelled, 'x')).toMatch(/sets .* itself|belongs to the connection/)
    }
  })

  it.each(['', 'a b', 'a:b', 'ä', 'a\n', 'a\u0000', '(a)', 'X'.repeat(maxHeaderNameLength + 1)])(
    'may not have the name %j',
    (name) => {
      expect(headerProblem(name, 'x')).toMatch(/header name/)
    },
  )

  it.each(['a\r\nb', 'a\nb', 'a\u0000', 'a\tb', 'a\x7f', '€', '😀', ' a', 'a '])(
    'may not have the value %j',
    (value) => {
      expect(headerProblem('X-Name', value)).toMatch(/header value/)
    },
  )
})

describe('the headers of a request', () => {
  it('are Postrider’s own, the signature and the static ones', () => {
    expect(requestHeaders({ staticHeaders: { 'X-Key': 'k' }, signature: { 'X-Signature': 'ab' } })).toEqual({
      'User-Agent': 'Postrider/1.0',
      'Content-Type': 'application/json',
      'X-Signature': 'ab',
      'X-Key': 'k',
    })
  })

  it('let no static header replace Postrider’s own', () => {
    const staticHeaders = { 'user-agent': 'x', 'CONTENT-TYPE': 'x', 'x-signature': 'x', 'Webhook-Id': 'x' }
    expect(requestHeaders({ staticHeaders, signature: {} })).toEqual({
      'User-Agent': 'Postrider/1.0',
      'Content-Type': 'application/json',
    })
  })
})
