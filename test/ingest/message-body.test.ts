import { describe, expect, it } from 'vitest'
import { deleteBody, messageBody } from '../../src/ingest/message-body.ts'
import type { EventType } from '../../src/schemas/message.ts'
import { readSourceEvent } from '../../src/schemas/source-event.ts'

const time = Date.parse('2026-01-02T03:04:05.678Z')

function bodyOf(sent: object, type: EventType, context: Record<string, unknown> = {}): string {
  const result = readSourceEvent(sent, type)
  if (!result.ok) throw new Error(result.fault.code)
  return JSON.stringify(messageBody(result.value, 'm1', time, context))
}

const head = (type: string, ids = '"userId":"u1",') =>
  `{"version":1,"type":"${type}","messageId":"m1","timestamp":"2026-01-02T03:04:05.678Z",${ids}`

describe('the delivered body', () => {
  it('of a track call has event and properties', () => {
    expect(bodyOf({ userId: 'u1', event: 'Buy', properties: { b: 1, a: [null] } }, 'track')).toBe(
      `${head('track')}"event":"Buy","properties":{"b":1,"a":[null]},"context":{}}`,
    )
  })

  it('of a page call has properties, name and category', () => {
    const sent = { anonymousId: 'a1', name: 'Home', category: 'Docs', properties: { path: '/' } }
    expect(bodyOf(sent, 'page', { ip: '10.0.0.1' })).toBe(
      `${head('page', '"anonymousId":"a1",')}"name":"Home","category":"Docs","properties":{"path":"/"},"context":{"ip":"10.0.0.1"}}`,
    )
  })

  it('of a page call takes traits as properties, whose own members win', () => {
    const sent = { userId: 'u1', traits: { url: 'from traits', title: 'T' }, properties: { url: 'own' } }
    expect(bodyOf(sent, 'page')).toBe(`${head('page')}"properties":{"url":"own","title":"T"},"context":{}}`)
  })

  it('of a screen call has a name, and properties only when sent', () => {
    expect(bodyOf({ userId: 'u1', name: 'Main' }, 'screen')).toBe(`${head('screen')}"name":"Main","context":{}}`)
    expect(bodyOf({ userId: 'u1', name: 'Main', properties: { x: 1 } }, 'screen')).toBe(
      `${head('screen')}"name":"Main","properties":{"x":1},"context":{}}`,
    )
  })

  it('of an identify call has traits, those of the context where there are no others', () => {
    expect(bodyOf({ userId: 'u1', traits: { vip: true } }, 'identify', { traits: { vip: false } })).toBe(
      `${head('identify')}"traits":{"vip":true},"context":{"traits":{"vip":false}}}`,
    )
    expect(bodyOf({ userId: 'u1' }, 'identify', { traits: { vip: false } })).toBe(
      `${head('identify')}"traits":{"vip":false},"context":{"traits":{"vip":false}}}`,
    )
    expect(bodyOf({ userId: 'u1', traits: null }, 'identify', { traits: 'none' })).toBe(
      `${head('identify')}"traits":{},"context":{"traits":"none"}}`,
    )
  })

  it('of a group call has groupId and traits', () => {
    expect(bodyOf({ userId: 'u1', groupId: 7, traits: { name: 'Acme' } }, 'group')).toBe(
      `${head('group')}"groupId":"7","traits":{"name":"Acme"},"context":{}}`,
    )
  })

  it('of an alias call has both names with a space', () => {
    expect(bodyOf({ userId: 'u1', previousId: 'a1' }, 'alias')).toBe(
      `${head('alias')}"Previous ID":"a1","User ID":"u1","context":{}}`,
    )
  })

  it.each(['track', 'page', 'group', 'identify'] as const)(
    'of a %s call has an empty payload object when none was sent',
    (type) => {
      const body = JSON.parse(
        bodyOf({ userId: 'u1', event: 'e', groupId: 'g', properties: null, traits: null }, type),
      ) as object
      expect(body).toMatchObject(type === 'track' || type === 'page' ? { properties: {} } : { traits: {} })
    },
  )

  it('of a deletion has three members', () => {
    expect(JSON.stringify(deleteBody('u1', new Date(time)))).toBe(
      '{"type":"delete","userId":"u1","timestamp":"2026-01-02T03:04:05.678Z"}',
    )
  })

  it('leaves out every member that no call has', () => {
    const sent = {
      userId: 'u1',
      event: 'e',
      writeKey: 'wk',
      integrations: { All: true },
      sentAt: '2026-01-01T00:00:00Z',
      receivedAt: '2026-01-01T00:00:00Z',
      originalTimestamp: '2026-01-01T00:00:00Z',
      channel: 'server',
      _metadata: {},
      extra: 1,
    }
    expect(bodyOf(sent, 'track')).toBe(`${head('track')}"event":"e","properties":{},"context":{}}`)
  })

  it('carries __proto__ and constructor as the data that they are', () => {
    const properties = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'
    const sent = JSON.parse(
      `{"userId":"u1","event":"e","__proto__":{"event":"x"},"properties":${properties}}`,
    ) as object
    expect(bodyOf(sent, 'track')).toBe(`${head('track')}"event":"e","properties":${properties},"context":{}}`)
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })
})
