import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readConfig, settingNames } from '../src/config.ts'
import { StartError } from '../src/errors.ts'
import { maxSecretFileBytes, withSecretFiles } from '../src/secret-files.ts'
import { externalTemporal } from '../src/temporal/connect.ts'

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
    ['POSTRIDER_ADMIN_TOKEN', 'gültig-und-lang'],
    ['POSTRIDER_ADMIN_TOKEN', 'a token with blanks'],
    ['POSTRIDER_RETENTION', '30m'],
    ['DATABASE_URL', 'postgres://user:p#ss@localhost/db'],
    ['DATABASE_URL', 'postgres://user:p/ss@localhost/db'],
    ['DATABASE_URL', 'postgres://user:1/ss@localhost/db'],
    ['DATABASE_URL', 'postgres://user:p%ss@localhost/db'],
    ['TEMPORAL_UI_URL', 'ui.example'],
    ['POSTRIDER_INGEST_URL', 'events.example'],
    ['POSTRIDER_INGEST_URL', 'https://events.example/v1'],
    ['POSTRIDER_PARCELS', 'never'],
    ['POSTRIDER_ROLES', 'all'],
    ['POSTRIDER_ROLES', 'api,'],
    ['POSTRIDER_ROLES', 'api'],
    ['POSTRIDER_ROLES', 'worker'],
    ['LOG_LEVEL', 'loud'],
    ['LOG_FORMAT', 'xml'],
  ])('stop the start with one line when %s is %s', (name, value) => {
    expect(() => readConfig({ [name]: value })).toThrow(StartError)
    expect(() => readConfig({ [name]: value })).toThrow(new RegExp(`^${name}[^\n]*$`))
    expect(failureOf(() => readConfig({ [name]: value }))).not.toMatch(/expected|received|invalid|too (big|small)/i)
  })

  it.each([
    'postgres://user:p%23ss@localhost:5432/db?sslmode=require',
    'postgresql://localhost/db',
    'postgres:///db?host=/var/run/postgresql',
    'postgres://user:pass@/db?host=/var/run/postgresql',
  ])('take an address of PostgreSQL: %s', (url) => {
    expect(readConfig({ DATABASE_URL: url }).databaseUrl).toBe(url)
  })

  it('show nothing of a password that cannot be read', () => {
    expect(() => readConfig({ DATABASE_URL: 'postgres://user:hidden#@localhost/db' })).toThrow(
      /^DATABASE_URL cannot be read: (?!.*hidden).*%23/,
    )
  })

  it('may name a short retention where Temporal is not the embedded one, which then has its own', () => {
    const keys = `k1:${Buffer.alloc(32, 1).toString('base64')}`
    const external = { TEMPORAL_ADDRESS: 'temporal:7233', POSTRIDER_ADMIN_TOKEN: 'long-enough' }
    const config = readConfig({ ...external, POSTRIDER_ENCRYPTION_KEYS: keys, POSTRIDER_RETENTION: '30m' })
    expect(config.retentionMs).toBe(1_800_000)
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

describe('roles', () => {
  const keys = `k1:${Buffer.alloc(32, 1).toString('base64')}`
  const parted = {
    TEMPORAL_ADDRESS: 'temporal:7233',
    DATABASE_URL: 'postgres://database/postrider',
    POSTRIDER_ADMIN_TOKEN: 'long-enough',
    POSTRIDER_ENCRYPTION_KEYS: keys,
  }

  it.each([
    [undefined, { api: true, worker: true }],
    ['api', { api: true, worker: false }],
    ['worker', { api: false, worker: true }],
    [' worker, api ', { api: true, worker: true }],
  ])('are read from POSTRIDER_ROLES: %s', (POSTRIDER_ROLES, roles) => {
    expect(readConfig({ ...parted, POSTRIDER_ROLES })).toMatchObject({ roles })
  })

  it('need a Temporal and a database that nodes share', () => {
    const { TEMPORAL_ADDRESS: _, ...embeddedTemporal } = { ...parted, POSTRIDER_ROLES: 'api' }
    expect(() => readConfig(embeddedTemporal)).toThrow('with the embedded Temporal: set TEMPORAL_ADDRESS to part')
    const { DATABASE_URL: __, ...embeddedDatabase } = { ...parted, POSTRIDER_ROLES: 'worker' }
    expect(() => readConfig(embeddedDatabase)).toThrow('with the embedded database: set DATABASE_URL to part')
  })

  it('need no admin token where there is no API', () => {
    const { POSTRIDER_ADMIN_TOKEN: _, ...withoutToken } = parted
    expect(readConfig({ ...withoutToken, POSTRIDER_ROLES: 'worker' }).adminToken).toBeUndefined()
    expect(() => readConfig({ ...withoutToken, POSTRIDER_ROLES: 'api' })).toThrow('POSTRIDER_ADMIN_TOKEN must be set')
  })
})

describe('secrets in files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-secrets-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const fileWith = (content: string | Buffer): string => {
    const path = join(folder, Math.random().toString(36).slice(2))
    writeFileSync(path, content)
    return path
  }
  const key = `k1:${Buffer.alloc(32, 1).toString('base64')}`

  it('count like those in the environment, without the line end', () => {
    const config = readConfig({
      DATABASE_URL_FILE: fileWith('postgres://postrider:secret@database/postrider\n'),
      POSTRIDER_ADMIN_TOKEN_FILE: fileWith('a-token/with=signs\r\n'),
      POSTRIDER_ENCRYPTION_KEYS_FILE: fileWith(key),
      POSTRIDER_ADMIN_TOKEN: '',
    })
    expect(config).toMatchObject({
      databaseUrl: 'postgres://postrider:secret@database/postrider',
      adminToken: 'a-token/with=signs',
      encryptionKeys: [{ id: 'k1' }],
    })
  })

  it('hold the API key of Temporal, too', () => {
    const environment = { TEMPORAL_ADDRESS: 'temporal:7233', TEMPORAL_API_KEY_FILE: fileWith('an-api-key\n') }
    expect(externalTemporal(environment).options.apiKey).toBe('an-api-key')
  })

  it('are checked like those in the environment', () => {
    expect(() => readConfig({ POSTRIDER_ADMIN_TOKEN_FILE: fileWith('short') })).toThrow(/^POSTRIDER_ADMIN_TOKEN must/)
  })

  it.each([
    ['missing', () => join(folder, 'none'), 'does not exist: correct the path'],
    ['below a file', () => join(fileWith('text'), 'file'), 'does not exist: correct the path'],
    ['a folder', () => folder, 'names a folder: name the file in it'],
    ['empty', () => fileWith(''), 'names an empty file: write the secret into it'],
    ['a line end alone', () => fileWith('\n'), 'names an empty file: write the secret into it'],
    ['larger than 64 KB', () => fileWith('x'.repeat(maxSecretFileBytes + 1)), 'of more than 64 KB: name the one'],
    ['endless', () => '/dev/zero', 'of more than 64 KB: name the one'],
    ['two lines', () => fileWith('top-secret\nsecond'), 'is not one line of text: write the secret alone into it'],
    ['no text', () => fileWith(Buffer.of(0xff, 0xfe)), 'is not one line of text: write the secret alone into it'],
    ['the secret itself', () => 'top-secret', 'does not exist: correct the path'],
    ['a long secret itself', () => 'top-secret'.repeat(1_000), 'give the path of a file, not the secret itself'],
  ])('stop the start with one line that does not show them when the file is %s', (_, path, mend) => {
    for (const name of [
      'POSTRIDER_ADMIN_TOKEN',
      'POSTRIDER_ENCRYPTION_KEYS',
      'DATABASE_URL',
      'OTEL_EXPORTER_OTLP_HEADERS',
    ]) {
      const message = failureOf(() => readConfig({ [`${name}_FILE`]: path() }))
      expect(message).toMatch(new RegExp(`^${name}_FILE [^\n]*${mend}`))
      expect(message).not.toMatch(/top-secret|\n/)
    }
  })

  it('stop the start when the same one is in the environment, whatever both are', () => {
    const message = failureOf(() =>
      readConfig({ POSTRIDER_ADMIN_TOKEN: 'top-secret', POSTRIDER_ADMIN_TOKEN_FILE: fileWith('top-secret') }),
    )
    expect(message).toBe('POSTRIDER_ADMIN_TOKEN_FILE is set beside POSTRIDER_ADMIN_TOKEN: take one of the two away')
  })

  it('take as many bytes as may be', () => {
    const text = 'x'.repeat(maxSecretFileBytes)
    expect(withSecretFiles({ TEMPORAL_API_KEY_FILE: fileWith(text) }, ['TEMPORAL_API_KEY'])).toMatchObject({
      TEMPORAL_API_KEY: text,
    })
  })

  it('are all named in the documentation', async () => {
    const page = await readFile(new URL('../docs/configuration.md', import.meta.url), 'utf8')
    for (const name of [...settingNames, 'TEMPORAL_API_KEY'].filter((one) =>
      /TOKEN|KEYS?$|DATABASE_URL|HEADERS/.test(one),
    ))
      expect(page).toContain(`\`${name}_FILE\``)
  })
})

const failureOf = (read: () => unknown): string => {
  try {
    read()
  } catch (error) {
    expect(error).toBeInstanceOf(StartError)
    return (error as StartError).message
  }
  throw new Error('it was accepted')
}
