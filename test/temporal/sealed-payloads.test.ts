import { randomBytes } from 'node:crypto'
import { defaultPayloadConverter } from '@temporalio/common'
import { describe, expect, it } from 'vitest'
import { createSecretBox } from '../../src/secrets.ts'
import { decode } from '../../src/temporal/opened.ts'
import { createSealedPayloads } from '../../src/temporal/sealed-payloads.ts'

const keyOf = (id: string) => ({ id, key: randomBytes(32) })
const [k1, k2] = [keyOf('k1'), keyOf('k2')]
const payload = defaultPayloadConverter.toPayload({ userId: 'u1' })
const textOf = ({ data }: { data?: Uint8Array | null }): string => Buffer.from(data ?? []).toString('latin1')

describe('sealed payloads', () => {
  it('show nothing of the payload, and are opened by every node with the key', () => {
    const sealed = createSealedPayloads([k1]).seal(payload)
    expect(textOf(sealed)).not.toContain('u1')
    expect(textOf(sealed)).not.toContain('json')
    expect(decode(createSealedPayloads([k2, k1]).open(sealed))).toEqual({ userId: 'u1' })
  })

  it('are sealed by the newest key, each time differently', () => {
    const both = createSealedPayloads([k2, k1])
    const sealed = both.seal(payload)
    expect(Buffer.from(sealed.metadata?.['encryption-key-id'] ?? []).toString()).toBe('k2')
    expect(textOf(both.seal(payload))).not.toBe(textOf(sealed))
  })

  it('tell which key is missing', () => {
    const sealed = createSealedPayloads([k2]).seal(payload)
    expect(() => createSealedPayloads([k1]).open(sealed)).toThrow('"k2" is not in POSTRIDER_ENCRYPTION_KEYS')
  })

  it('are refused when another key has the same name, or one byte was changed', () => {
    const { open, seal } = createSealedPayloads([k1])
    const sealed = seal(payload)
    expect(() => createSealedPayloads([keyOf('k1')]).open(sealed)).toThrow('"k1" is not the one')
    const data = Buffer.from(sealed.data ?? [])
    data[data.length - 1] = (data[data.length - 1] ?? 0) ^ 1
    expect(() => open({ ...sealed, data })).toThrow('"k1" is not the one')
    for (const length of [0, 5, 20]) expect(() => open({ ...sealed, data: data.subarray(0, length) })).toThrow('"k1"')
  })

  it('leave payloads alone that were never sealed', () => {
    expect(createSealedPayloads([k1]).open(payload)).toBe(payload)
  })

  it('do not open what secrets at rest are sealed with', () => {
    const { open, seal } = createSealedPayloads([k1])
    const [, secret = ''] = createSecretBox([k1]).seal('whsec_').split(':')
    expect(() => open({ ...seal(payload), data: Buffer.from(secret, 'base64') })).toThrow('"k1" is not the one')
  })
})
