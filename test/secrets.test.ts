import { describe, expect, it } from 'vitest'
import { createSecretBox } from '../src/secrets.ts'

const key = (id: string, byte: number) => ({ id, key: Buffer.alloc(32, byte) })

describe('secrets at rest', () => {
  it('come back, and never look the same twice', () => {
    const box = createSecretBox([key('k1', 1)])
    const [first, second] = [box.seal('täst'), box.seal('täst')]
    expect(first).not.toBe(second)
    expect([box.open(first), box.open(second)]).toEqual(['täst', 'täst'])
    expect(first).not.toContain('täst')
  })

  it('are read with the key they were stored with, and stored with the newest', () => {
    const before = createSecretBox([key('k1', 1)]).seal('old')
    const box = createSecretBox([key('k2', 2), key('k1', 1)])
    expect(box.open(before)).toBe('old')
    expect(box.seal('new')).toMatch(/^k2:/)
  })

  it('are refused without their key, and when they were changed', () => {
    const sealed = createSecretBox([key('k1', 1)]).seal('secret')
    expect(() => createSecretBox([key('k2', 2)]).open(sealed)).toThrow('k1')
    const [id = '', text = ''] = sealed.split(':')
    const bytes = Buffer.from(text, 'base64')
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
    expect(() => createSecretBox([key('k1', 1)]).open(`${id}:${bytes.toString('base64')}`)).toThrow()
  })
})
