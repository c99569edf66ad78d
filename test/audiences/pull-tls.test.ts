import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseSqlSource } from '../../src/audiences/sql-source.ts'
import { createCertificates } from '../support/certificates.ts'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'

describe('a connection string', () => {
  it.each([
    ['', 'verify-full'],
    ['?sslmode=verify-full', 'verify-full'],
    ['?sslmode=verify-ca', 'verify-full'],
    ['?sslmode=require', 'verify-full'],
    ['?sslmode=no-verify', 'no-verify'],
    ['?sslmode=disable', 'disable'],
  ])('with %j stands for %s', (parameters, tls) => {
    expect(parseSqlSource(`postgres://u:p@db.example/shop${parameters}`)).toMatchObject({ tls })
  })

  it.each([
    '?sslmode=prefer',
    '?sslmode=allow',
    '?sslmode=',
    '?sslmode=constructor',
    '?sslmode=require&sslmode=disable',
  ])('with %j is refused', (parameters) => {
    expect(() => parseSqlSource(`postgres://u:p@db.example/shop${parameters}`)).toThrow(/^must have one sslmode of/)
  })

  it('with a bare % says how to write it', () => {
    expect(() => parseSqlSource('postgres://u:100%@db.example/shop')).toThrow('has a % that must be written %25')
    expect(parseSqlSource('postgres://u:100%25@db.example/shop')).toMatchObject({ password: '100%' })
  })
})

const missing = findPostgres() === undefined
if (missing) console.warn('No PostgreSQL binaries here: TLS to the server of a membership is not tested.')

describe.skipIf(missing)('a membership from a PostgreSQL', () => {
  let folder: string
  let servers: Record<'trusted' | 'wrongHost' | 'plain', PostgresServer>

  beforeAll(async () => {
    const certificates = await createCertificates()
    folder = await mkdtemp(join(tmpdir(), 'postrider-pull-tls-'))
    await writeFile(join(folder, 'authority.pem'), certificates.authority)
    const [trusted, wrongHost, plain] = await Promise.all([
      startPostgres({ certificate: certificates.valid }),
      startPostgres({ certificate: certificates.wrongHost }),
      startPostgres(),
    ])
    servers = { trusted, wrongHost, plain }
  }, 120_000)
  afterAll(async () => {
    await Promise.all(Object.values(servers).map((server) => server.stop()))
    await rm(folder, { recursive: true })
  })

  const urlOf = (which: keyof typeof servers, parameters = '', host = '127.0.0.1'): string => {
    const { user, password, port } = servers[which]
    return `postgres://${user}:${password}@${host}:${String(port)}/postgres${parameters}`
  }

  /** @param trusts  whether the authority of the tests is known to the program, as an operator would tell it */
  const pull = async (urls: string[], { trusts }: { trusts: boolean }): Promise<unknown[]> => {
    const env = { ...process.env, ...(trusts && { NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem') }) }
    const program = resolve(import.meta.dirname, 'pull-once.ts')
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', program, ...urls], { env })
    return JSON.parse(stdout) as unknown[]
  }

  const rowOf = (encrypted: boolean): object => ({
    rows: [{ line: 1, row: { userId: 'u1', present: true, value: null, traits: JSON.stringify({ encrypted }) } }],
  })
  const refused = (message: RegExp): object => ({
    name: 'MembershipError',
    message: expect.stringMatching(message) as string,
  })

  it('is read encrypted from a server that is trusted, under its name or address, without a word', async () => {
    const urls = [
      urlOf('trusted'),
      urlOf('trusted', '', 'localhost'),
      urlOf('trusted', '?sslmode=require'),
      urlOf('trusted', '?sslmode=disable'),
    ]
    const encrypted = rowOf(true)
    expect(await pull(urls, { trusts: true })).toEqual([encrypted, encrypted, encrypted, rowOf(false)])
  })

  it('is not read from a server that is not trusted, unless that is said', async () => {
    const untrusted = ['', '?sslmode=require', '?sslmode=verify-full'].map((parameters) => urlOf('trusted', parameters))
    const mend = /certificate of 127\.0\.0\.1 is not trusted \(unable to verify.*NODE_EXTRA_CA_CERTS.*sslmode=no-verify/
    expect(await pull([...untrusted, urlOf('trusted', '?sslmode=no-verify')], { trusts: false })).toEqual([
      ...untrusted.map(() => refused(mend)),
      rowOf(true),
    ])
  })

  it('is not read from a server that is trusted under another name', async () => {
    const urls = [urlOf('wrongHost'), urlOf('wrongHost', '', 'localhost'), urlOf('wrongHost', '?sslmode=require')]
    const mend = /is not trusted \(.*does not match certificate's altnames/
    expect(await pull(urls, { trusts: true })).toEqual(urls.map(() => refused(mend)))
  })

  it('is not read from a server without TLS, unless that is said', async () => {
    const urls = [urlOf('plain'), urlOf('plain', '?sslmode=no-verify'), urlOf('plain', '?sslmode=disable')]
    const mend = /127\.0\.0\.1 offers no TLS: .*sslmode=disable/
    expect(await pull(urls, { trusts: true })).toEqual([refused(mend), refused(mend), rowOf(false)])
  })
})
