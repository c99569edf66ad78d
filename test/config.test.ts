import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { readConfig, settingNames } from '../src/config.ts'
import { StartError } from '../src/errors.ts'

describe('settings', () => {
  it('are all in the documentation, and nothing else is', async () => {
    const page = await readFile(new URL('../docs/configuration.md', import.meta.url), 'utf8')
    const documented = [...page.matchAll(/^\| `([A-Z_]+)` +\|/gm)].map(([, name]) => name)
    expect(documented).toEqual(settingNames)
  })

  it('have defaults that make an embedded node on loopback', () => {
    expect(readConfig({ PORT: '' })).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      temporal: { kind: 'embedded', port: 7233, uiPort: 8233 },
      allowedNetworks: ['127.0.0.0/8', '::1/128'],
      retry: { windowMs: 4 * 3_600_000, initialMs: 10_000, maxMs: 900_000 },
      retentionMs: 72 * 3_600_000,
      inboxMax: 1_000_000,
      parcels: 'auto',
    })
  })

  it.each([
    ['PORT', '70000'],
    ['PORT', 'http'],
    ['DATABASE_URL', 'mysql://localhost'],
    ['POSTRIDER_RETRY_WINDOW', '4'],
    ['POSTRIDER_RETRY_WINDOW', '0s'],
    ['POSTRIDER_RETRY_MAX', '1s'],
    ['POSTRIDER_ALLOWED_NETWORKS', '10.0.0.0/8,office'],
    ['POSTRIDER_TRUSTED_PROXIES', '10.0.0.1'],
    ['POSTRIDER_ENCRYPTION_KEYS', 'k1:c2hvcnQ='],
    ['POSTRIDER_ADMIN_TOKEN', 'short'],
    ['TEMPORAL_UI_URL', 'ui.example'],
    ['POSTRIDER_PARCELS', 'never'],
    ['LOG_LEVEL', 'loud'],
  ])('stop the start with one line when %s is %s', (name, value) => {
    expect(() => readConfig({ [name]: value })).toThrow(StartError)
    expect(() => readConfig({ [name]: value })).toThrow(new RegExp(`^${name}[^\n]*$`))
  })

  it('must name token and keys where Temporal is not the embedded one', () => {
    const external = { TEMPORAL_ADDRESS: 'temporal:7233' }
    expect(() => readConfig(external)).toThrow('POSTRIDER_ADMIN_TOKEN')
    expect(() => readConfig({ ...external, POSTRIDER_ADMIN_TOKEN: 'long-enough' })).toThrow('POSTRIDER_ENCRYPTION_KEYS')
    const keys = `k2:${Buffer.alloc(32, 2).toString('base64')},k1:${Buffer.alloc(32, 1).toString('base64')}`
    const config = readConfig({ ...external, POSTRIDER_ADMIN_TOKEN: 'long-enough', POSTRIDER_ENCRYPTION_KEYS: keys })
    expect(config).toMatchObject({ temporal: { kind: 'external' }, allowedNetworks: [] })
    expect(config.encryptionKeys?.map(({ id }) => id)).toEqual(['k2', 'k1'])
  })
})
