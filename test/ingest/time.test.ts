import { describe, expect, it } from 'vitest'
import { eventTime, maxTravelMs } from '../../src/ingest/event-time.ts'
import { parseIsoTime } from '../../src/schemas/iso-time.ts'

const iso = (text: string): string | undefined => {
  const time = parseIsoTime(text)
  return time === undefined ? undefined : new Date(time).toISOString()
}

describe('parseIsoTime', () => {
  it.each([
    ['2026-11-21T12:48:23.123Z', '2026-11-21T12:48:23.123Z'],
    ['2026-11-21T12:48:23.123+00:00', '2026-11-21T12:48:23.123Z'],
    ['2026-11-21T12:48:23.123456+00:00', '2026-11-21T12:48:23.123Z'],
    ['2026-11-21T12:48:23.139228078+05:30', '2026-11-21T07:18:23.139Z'],
    ['2026-11-21T12:48:23+0530', '2026-11-21T07:18:23.000Z'],
    ['2026-11-21T12:48:23-08', '2026-11-21T20:48:23.000Z'],
    ['2026-11-21T12:48:23.651153019Z', '2026-11-21T12:48:23.651Z'],
    ['2026-11-21T12:48:23.9Z', '2026-11-21T12:48:23.900Z'],
    ['2026-11-21T12:48:23,25Z', '2026-11-21T12:48:23.250Z'],
    ['2026-11-21t12:48:23z', '2026-11-21T12:48:23.000Z'],
    ['2026-11-21 12:48:23', '2026-11-21T12:48:23.000Z'],
    ['2026-11-21T12:48Z', '2026-11-21T12:48:00.000Z'],
    ['2026-11-21', '2026-11-21T00:00:00.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['1969-07-20T20:17:40Z', '1969-07-20T20:17:40.000Z'],
    ['0099-01-01T00:00:00.000Z', '0099-01-01T00:00:00.000Z'],
  ])('reads %s', (text, expected) => {
    expect(iso(text)).toBe(expected)
  })

  it.each([
    '',
    'now',
    'March 7',
    '2026',
    '1700000000',
    '2026-13-01',
    '2026-00-01',
    '2026-02-30',
    '2026-02-29T00:00:00.000Z',
    '2026-01-00',
    '2026-01-32',
    '2026-11-21T25:00:00Z',
    '2026-11-21T12:61:00Z',
    '2026-11-21T12:48:23+99:00',
    '2026-11-21T12:48:23.1234567890Z',
    '2026-11-21T12:48:23.123Z2026-11-21',
    ' 2026-11-21',
    '２０２６-11-21',
  ])('refuses %j', (text) => {
    expect(iso(text)).toBeUndefined()
  })
})

describe('eventTime', () => {
  const receivedAt = Date.parse('2026-06-01T12:00:00.000Z')
  const hour = 3_600_000

  it('takes the error of the caller’s clock out', () => {
    const sentAt = receivedAt - hour
    expect(eventTime(sentAt - 5_000, sentAt, receivedAt)).toBe(receivedAt - 5_000)
    expect(eventTime(receivedAt + hour - 5_000, receivedAt + hour, receivedAt)).toBe(receivedAt - 5_000)
  })

  it('keeps the caller’s time without sentAt, and takes the server’s without any', () => {
    expect(eventTime(42, undefined, receivedAt)).toBe(42)
    expect(eventTime(undefined, 42, receivedAt)).toBe(receivedAt)
  })

  it('keeps an imported time to the millisecond while the clocks agree', () => {
    const old = Date.parse('2011-01-01T00:00:00.000Z')
    expect(eventTime(old, receivedAt - maxTravelMs + 1, receivedAt)).toBe(old)
    expect(eventTime(old, receivedAt - maxTravelMs, receivedAt)).toBe(old + maxTravelMs)
  })

  it('keeps the caller’s time where the correction leaves the years of four digits', () => {
    const first = Date.parse('0001-01-01T00:00:00Z')
    expect(eventTime(first, Date.parse('9999-01-01T00:00:00Z'), receivedAt)).toBe(first)
  })
})
