import { describe, expect, it } from 'vitest'
import { isIntegrationOn } from '../../src/ingest/integrations.ts'
import { maxCallBytes, maxDepth } from '../../src/ingest/limits.ts'
import { brokenBound } from '../../src/ingest/measure.ts'
import { resolveWriteKey } from '../../src/ingest/write-key.ts'
import { readSourceEvent } from '../../src/schemas/source-event.ts'

describe('isIntegrationOn', () => {
  it.each([
    [undefined, undefined, true],
    [null, null, true],
    [{}, {}, true],
    [{ All: false }, undefined, false],
    [{ All: false, Webhooks: true }, undefined, true],
    [{ All: false, Webhooks: { some: 'option' } }, undefined, true],
    [{ All: true, Webhooks: false }, undefined, false],
    [{ webhooks: false }, undefined, true],
    [{ All: false, webhooks: true }, undefined, false],
    [undefined, { Webhooks: false }, false],
    [{ Webhooks: true }, { Webhooks: false }, true],
    [{ All: false }, { Webhooks: true }, true],
    [{ All: true }, { All: false }, true],
    [{ Webhooks: null }, { All: false }, false],
  ])('event %j, batch %j: %s', (ofEvent, ofBatch, expected) => {
    expect(isIntegrationOn('Webhooks', ofEvent, ofBatch)).toBe(expected)
  })
})

describe('resolveWriteKey', () => {
  const encoded = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`

  it.each([
    [encoded('wk:'), undefined, 'wk'],
    [encoded('wk'), undefined, 'wk'],
    [encoded('wk:password'), undefined, 'wk'],
    [encoded('wk:').replace('Basic', 'basic'), 'wk', 'wk'],
    [undefined, 'wk', 'wk'],
    ['Bearer other', 'wk', 'wk'],
    ['Basic', 'wk', 'wk'],
    [encoded(':'), 'wk', 'wk'],
    [undefined, undefined, undefined],
    [undefined, '', undefined],
    ['Basic %%%', undefined, undefined],
  ])('header %j, body %j: %j', (header, body, expected) => {
    expect(resolveWriteKey(header, body)).toBe(expected)
  })

  it('refuses two different keys', () => {
    expect(() => resolveWriteKey(encoded('one:'), 'two')).toThrow(
      expect.objectContaining({ code: 'unknown_write_key' }),
    )
  })
})

describe('brokenBound', () => {
  const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
  const sized = (bytes: number, fill = 'x') => ({
    a: fill.repeat((bytes - '{"a":""}'.length) / Buffer.byteLength(fill)),
  })
  const large = maxCallBytes + 1

  it('allows exactly the deepest nesting', () => {
    expect(brokenBound(nested(maxDepth), 10)).toBeUndefined()
    expect(brokenBound(nested(maxDepth + 1), 10)).toBe('too_deep')
    expect(brokenBound(nested(200_000), large)).toBe('too_deep')
  })

  it('allows exactly the largest call, in bytes', () => {
    expect(brokenBound(sized(maxCallBytes), large)).toBeUndefined()
    expect(brokenBound(sized(maxCallBytes + 1), large)).toBe('call_too_large')
    expect(brokenBound(sized(maxCallBytes, '…'), large)).toBeUndefined()
    expect(brokenBound(sized(maxCallBytes + 3, '…'), large)).toBe('call_too_large')
  })

  it('finds what only its escapes, keys, numbers or items make too large', () => {
    const manyKeys = Object.fromEntries(Array.from({ length: 3_000 }, (_, n) => [`key-${n}`, 1]))
    expect(brokenBound({ a: '\u0001'.repeat(6_000) }, large)).toBe('call_too_large')
    expect(brokenBound(manyKeys, large)).toBe('call_too_large')
    expect(
      brokenBound(
        Array.from({ length: 2_000 }, () => -1.7976931348623157e308),
        large,
      ),
    ).toBe('call_too_large')
  })
})

describe('readSourceEvent', () => {
  const track = { type: 'track', event: 'Buy', userId: 'u1' }

  it.each([
    [7, 'bad_request', ''],
    [[], 'bad_request', ''],
    [null, 'bad_request', ''],
    [{ ...track, type: 'delete' }, 'type_unknown', 'type'],
    [{ event: 'Buy', userId: 'u1' }, 'type_unknown', 'type'],
    [{ type: 'track', event: 'Buy' }, 'id_required', 'userId'],
    [{ type: 'track', event: 'Buy', userId: null, anonymousId: '' }, 'id_required', 'userId'],
    [{ type: 'group', userId: 'u1' }, 'id_required', 'groupId'],
    [{ type: 'alias', userId: 'u1' }, 'id_required', 'previousId'],
    [{ type: 'alias', previousId: 'p', anonymousId: 'a' }, 'id_required', 'userId'],
    [{ ...track, userId: true }, 'id_not_string', 'userId'],
    [{ ...track, userId: { id: 1 } }, 'id_not_string', 'userId'],
    [{ ...track, anonymousId: 2 ** 53 }, 'id_not_string', 'anonymousId'],
    [{ ...track, userId: Infinity }, 'id_not_string', 'userId'],
    [{ ...track, userId: 'a\0' }, 'id_malformed', 'userId'],
    [{ ...track, messageId: '\ud800' }, 'id_malformed', 'messageId'],
    [{ ...track, messageId: 'x'.repeat(101) }, 'id_too_long', 'messageId'],
    [{ type: 'track', userId: 'u1' }, 'event_not_defined', 'event'],
    [{ ...track, event: '' }, 'event_not_defined', 'event'],
    [{ ...track, event: 5 }, 'event_not_string', 'event'],
    [{ ...track, name: 5 }, 'name_not_string', 'name'],
    [{ ...track, properties: [] }, 'properties_not_object', 'properties'],
    [{ ...track, traits: 'x' }, 'traits_not_object', 'traits'],
    [{ ...track, context: 1 }, 'context_not_object', 'context'],
    [{ ...track, integrations: false }, 'integrations_not_object', 'integrations'],
    [{ ...track, timestamp: 'yesterday' }, 'timestamp_malformed', 'timestamp'],
    [{ ...track, timestamp: 1_700_000_000 }, 'timestamp_malformed', 'timestamp'],
  ])('refuses %j as %s at %j', (sent, code, path) => {
    expect(readSourceEvent(sent, undefined)).toEqual({ ok: false, fault: { code, path } })
  })

  it('takes numbers as ids, pairs of surrogates, and a messageId of 100 characters', () => {
    const messageId = '🦉'.repeat(100)
    expect(readSourceEvent({ ...track, userId: 12, anonymousId: -0.5, messageId }, undefined)).toMatchObject({
      value: { userId: '12', anonymousId: '-0.5', messageId },
    })
  })

  it('keeps an event whose sentAt cannot be read', () => {
    expect(readSourceEvent({ ...track, sentAt: 'soon' }, undefined)).toMatchObject({ ok: true })
  })

  it('lets the path outrank the event’s own type', () => {
    expect(readSourceEvent({ ...track, type: 'nonsense' }, 'track')).toMatchObject({ value: { type: 'track' } })
  })
})
