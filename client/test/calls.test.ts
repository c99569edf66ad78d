/** What a call accepts, what it refuses at once, and the message it makes. */

import { Analytics, AnalyticsError } from '@postrider/analytics'
import { describe, expect, it } from 'vitest'
import { setup } from './support/setup.ts'

/** The client as JavaScript sees it: anything can be passed. */
type Untyped = Record<'track' | 'identify' | 'page' | 'screen' | 'group' | 'alias', (call: unknown) => string>

function caught(action: () => unknown): AnalyticsError {
  try {
    action()
  } catch (error) {
    if (error instanceof AnalyticsError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

const circular: Record<string, unknown> = {}
circular.self = circular

function nested(levels: number): object {
  return levels === 1 ? {} : { inner: nested(levels - 1) }
}

const wrong: [keyof Untyped, unknown, string, string | undefined][] = [
  ['track', { event: 'Bought' }, 'id_required', 'userId'],
  ['track', { event: 'Bought', userId: '', anonymousId: null }, 'id_required', 'userId'],
  ['identify', {}, 'id_required', 'userId'],
  ['group', { groupId: 'g1' }, 'id_required', 'userId'],
  ['group', { userId: 'u1' }, 'required', 'groupId'],
  ['track', { userId: 'u1' }, 'required', 'event'],
  ['track', { userId: 'u1', event: '' }, 'required', 'event'],
  ['page', { name: 'Home' }, 'id_required', 'userId'],
  ['screen', { name: 'Home' }, 'id_required', 'userId'],
  ['alias', { userId: 'u1' }, 'required', 'previousId'],
  ['alias', { previousId: 'a1' }, 'required', 'userId'],
  ['track', { userId: 7, event: 'Bought' }, 'wrong_type', 'userId'],
  ['track', { userId: 'u1', event: 7 }, 'wrong_type', 'event'],
  ['track', { userId: 'u1', event: 'Bought', properties: [] }, 'wrong_type', 'properties'],
  ['identify', { userId: 'u1', traits: 'tall' }, 'wrong_type', 'traits'],
  ['identify', { userId: 'u1', context: 1 }, 'wrong_type', 'context'],
  ['identify', { userId: 'u1', timestamp: 'yesterday' }, 'wrong_type', 'timestamp'],
  ['identify', { userId: 'u1', timestamp: '2026-02-30T00:00:00Z' }, 'wrong_type', 'timestamp'],
  ['identify', { userId: 'u1', timestamp: '2026-02-03T25:00:00Z' }, 'wrong_type', 'timestamp'],
  ['identify', { userId: 'u\0' }, 'wrong_type', 'userId'],
  ['identify', { userId: 'u1', anonymousId: '\ud800' }, 'wrong_type', 'anonymousId'],
  ['identify', { userId: 'u1', traits: nested(100) }, 'too_deep', 'traits'],
  ['identify', { userId: 'u1', timestamp: new Date(Number.NaN) }, 'wrong_type', 'timestamp'],
  ['identify', { userId: 'u1', integrations: { All: 'no' } }, 'wrong_type', 'integrations.All'],
  ['identify', { userId: 'u1', messageId: 'm'.repeat(101) }, 'wrong_type', 'messageId'],
  ['page', { userId: 'u1', properties: { url: 1 } }, 'wrong_type', 'properties.url'],
  ['page', { userId: 'u1', traits: { title: [] } }, 'wrong_type', 'properties.title'],
  ['track', { userId: 'u1', event: 'Bought', proprties: {} }, 'unknown_member', 'proprties'],
  ['track', { userId: 'u1', event: 'Bought', toString: 'x' }, 'unknown_member', 'toString'],
  ['track', { userId: 'u1', event: 'Bought', properties: circular }, 'not_serializable', 'properties'],
  ['track', { userId: 'u1', event: 'Bought', properties: { n: 1n } }, 'not_serializable', 'properties'],
  ['track', 'Bought', 'wrong_type', undefined],
]

const wrongOptions: [string, object][] = [
  ['spoolMaxAgeMs', { spoolMaxAgeMs: 0 }],
  ['endpoint', { endpoint: 'localhost' }],
  ['endpoint', { endpoint: 'ftp://example.com' }],
  ['endpoint', { endpoint: 'https://user:secret@example.com' }],
  ['flushAt', { flushAt: 0 }],
  ['size', { size: 1.5 }],
  ['flushAfter', { flushAfter: '5s' }],
  ['gzip', { gzip: 'yes' }],
  ['onError', { onError: 'log' }],
  ['spoolDir', { spoolDir: '' }],
  ['flushOnSignals', { flushOnSignals: 1 }],
  ['flushat', { flushat: 10 }],
]

describe('a wrong call', () => {
  it.each(wrong)('%s(%o) throws %s naming %s, and queues nothing', async (type, call, code, member) => {
    const { analytics } = await setup()
    expect(caught(() => (analytics as unknown as Untyped)[type](call))).toMatchObject({ code, member })
    expect(analytics.stats.pending).toBe(0)
  })

  it('is over 32,768 bytes of JSON in UTF-8, and one byte less is not', async () => {
    const { analytics, server } = await setup()
    const call = (text: string) => ({ userId: 'u1', event: 'Bought', messageId: 'm1', properties: { text } })
    analytics.track(call(''))
    await analytics.flush()
    const room = 32_768 - JSON.stringify(server.messages()[0]).length
    // Three bytes each in UTF-8, one unit of length in JavaScript.
    const text = '€'.repeat(Math.floor(room / 3)) + '.'.repeat(room % 3)
    expect(caught(() => analytics.track(call(`${text}.`)))).toMatchObject({ code: 'too_large', member: 'properties' })
    analytics.track(call(text))
    await analytics.flush()
    expect(Buffer.byteLength(JSON.stringify(server.messages()[0]))).toBe(32_768)
  })

  it('comes after close', async () => {
    const { analytics } = await setup()
    await analytics.close()
    expect(caught(() => analytics.identify({ userId: 'u1' })).code).toBe('closed')
  })
})

describe('a wrong option', () => {
  it.each(wrongOptions)('%s of %o throws and is named', (member, options) => {
    expect(caught(() => new Analytics('key', options))).toMatchObject({ code: 'invalid_option', member })
  })

  it.each(['', 'with:colon', undefined])('write key %s', (writeKey) => {
    const error = caught(() => new Analytics(writeKey as string))
    expect(error).toMatchObject({ code: 'invalid_option', member: 'writeKey' })
  })
})

describe('a message', () => {
  it('carries the members of the six calls, an id, the time of the call and the library', async () => {
    const { analytics, server } = await setup()
    const before = Date.now()
    analytics.identify({ userId: 'u1', traits: { plan: 'pro' } })
    analytics.track({ anonymousId: 'a1', event: 'Bought', properties: { price: 5 } })
    analytics.page({ userId: 'u1', name: 'Home', category: 'Docs', properties: { url: 'https://example.com/' } })
    analytics.screen({ userId: 'u1', name: 'Start' })
    analytics.group({ userId: 'u1', groupId: 'g1', traits: { name: 'Initech' } })
    const aliasId = analytics.alias({ userId: 'u1', previousId: 'a1' })
    const after = Date.now()
    await analytics.flush()
    const messages = server.messages()
    expect(messages).toMatchObject([
      { type: 'identify', userId: 'u1', traits: { plan: 'pro' } },
      { type: 'track', anonymousId: 'a1', event: 'Bought', properties: { price: 5 } },
      { type: 'page', name: 'Home', category: 'Docs', properties: { url: 'https://example.com/' } },
      { type: 'screen', userId: 'u1', name: 'Start' },
      { type: 'group', groupId: 'g1', traits: { name: 'Initech' } },
      { type: 'alias', userId: 'u1', previousId: 'a1', messageId: aliasId },
    ])
    expect(new Set(messages.map(({ messageId }) => messageId)).size).toBe(6)
    for (const { timestamp, context } of messages) {
      expect(Date.parse(timestamp)).toBeGreaterThanOrEqual(before)
      expect(Date.parse(timestamp)).toBeLessThanOrEqual(after)
      expect(context).toMatchObject({ library: { name: '@postrider/analytics' } })
    }
    const request = server.requests[0]
    expect(Date.parse(request?.body.sentAt ?? '')).toBeGreaterThanOrEqual(before)
    expect(request?.path).toBe('/v1/batch')
    expect(request?.headers.authorization).toBe(`Basic ${Buffer.from('key:').toString('base64')}`)
  })

  it('keeps the id, time, integrations and context of the caller', async () => {
    const { analytics, server } = await setup()
    const integrations = { All: false, Webhooks: true }
    analytics.track({
      userId: 'u1',
      event: 'Bought',
      messageId: 'order-7',
      timestamp: '2020-02-03T04:05:06.789+05:30',
      integrations,
      context: { ip: '203.0.113.7' },
    })
    analytics.identify({ userId: 'u1', timestamp: new Date('2019-01-01T00:00:00Z') })
    await analytics.flush()
    expect(server.messages()).toMatchObject([
      {
        messageId: 'order-7',
        timestamp: '2020-02-03T04:05:06.789+05:30',
        integrations,
        context: { ip: '203.0.113.7', library: { name: '@postrider/analytics' } },
      },
      { timestamp: '2019-01-01T00:00:00.000Z' },
    ])
  })

  it.each(['2020-02-29', '2020-01-02T03:04:05+0530', '2020-01-02 03:04', '2020-01-02T03:04:05,123456789Z'])(
    'may have the time %s',
    async (timestamp) => {
      const { analytics, server } = await setup()
      analytics.identify({ userId: 'u1', timestamp, traits: nested(99) })
      await analytics.flush()
      expect(server.messages()).toMatchObject([{ timestamp }])
    },
  )

  it('of a page has its traits as properties', async () => {
    const { analytics, server } = await setup()
    analytics.page({ userId: 'u1', traits: { url: '/a', title: 'A' }, properties: { title: 'B' } })
    await analytics.flush()
    expect(server.messages()).toMatchObject([{ properties: { url: '/a', title: 'B' } }])
    expect(server.messages()[0]).not.toHaveProperty('traits')
  })

  it('is as the call was, whatever happens to the objects later', async () => {
    const { analytics, server } = await setup()
    const properties = { price: 5 }
    analytics.track({ userId: 'u1', event: 'Bought', properties })
    properties.price = 6
    await analytics.flush()
    expect(server.messages()).toMatchObject([{ properties: { price: 5 } }])
  })
})
