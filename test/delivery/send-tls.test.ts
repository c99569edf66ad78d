import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSender } from '../../src/delivery/send.ts'
import type { Sender, SendOutcome } from '../../src/delivery/send.ts'
import { createCertificates } from '../support/certificates.ts'
import type { Certificates } from '../support/certificates.ts'
import { startReceiver } from '../support/receiver.ts'

const request = { headers: { 'Content-Type': 'application/json' }, body: '{}' }

describe('an HTTPS endpoint', () => {
  let certificates: Certificates
  let sender: Sender
  let folder: string

  beforeAll(async () => {
    certificates = await createCertificates()
    sender = createSender({ allowedNetworks: ['127.0.0.0/8'] })
    folder = await mkdtemp(join(tmpdir(), 'postrider-tls-'))
    await writeFile(join(folder, 'authority.pem'), certificates.authority)
  })
  afterAll(async () => {
    await sender.close()
    await rm(folder, { recursive: true })
  })

  /** A program that trusts the test authority, as an operator would have it do. */
  const sendTrusting = async (urls: string[], environment: NodeJS.ProcessEnv = {}): Promise<SendOutcome[]> => {
    const program = resolve(import.meta.dirname, 'send-once.ts')
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem'), ...environment }
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', program, ...urls], { env })
    return JSON.parse(stdout) as SendOutcome[]
  }

  it.each([
    ['self-signed', 'selfSigned', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['signed by an unknown authority', 'valid', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ] as const)('gets no request when its certificate is %s', async (_what, which, code) => {
    const receiver = await startReceiver({ tls: certificates[which] })
    // Twice: a session kept from the first handshake must not open the door to the second.
    for (const host of ['127.0.0.1', 'localhost', 'localhost']) {
      const outcome = await sender.send({ url: `https://${host}:${receiver.port}/`, ...request })
      expect(outcome).toMatchObject({ kind: 'rejected', code: 'certificate' })
      expect(outcome).toHaveProperty('reason', expect.stringContaining(code))
    }
    const connections = receiver.connections()
    await receiver.close()
    expect(connections).toBe(3)
    expect(receiver.requests).toEqual([])
  })

  it.each([
    ['expired', 'expired', 'CERT_HAS_EXPIRED'],
    ['for another host', 'wrongHost', 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ] as const)('gets no request when its certificate is trusted but %s', async (_what, which, code) => {
    const receiver = await startReceiver({ tls: certificates[which] })
    const url = `https://localhost:${receiver.port}/`
    const outcomes = await sendTrusting([url, url])
    await receiver.close()
    const refused = { kind: 'rejected', code: 'certificate', reason: expect.stringContaining(code) as string }
    expect(outcomes).toMatchObject([refused, refused])
    expect(receiver.requests).toEqual([])
  })

  it('gets the request when NODE_EXTRA_CA_CERTS has its authority', async () => {
    await using receiver = await startReceiver({ tls: certificates.valid })
    const urls = ['127.0.0.1', 'localhost'].map((host) => `https://${host}:${receiver.port}/`)
    expect(await sendTrusting(urls)).toMatchObject([{ kind: 'delivered' }, { kind: 'delivered' }])
    expect(receiver.requests).toHaveLength(2)
  })

  it('is checked even where the environment switches checks off', async () => {
    await using receiver = await startReceiver({ tls: certificates.selfSigned })
    const outcomes = await sendTrusting([`https://localhost:${receiver.port}/`], { NODE_TLS_REJECT_UNAUTHORIZED: '0' })
    expect(outcomes).toMatchObject([{ kind: 'rejected', code: 'certificate' }])
    expect(receiver.requests).toEqual([])
  })

  it('must speak TLS 1.2 or newer', async () => {
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const
    await using receiver = await startReceiver({ tls: { ...certificates.valid, ...old } })
    await using newer = await startReceiver({ tls: { ...certificates.valid, maxVersion: 'TLSv1.2' } })
    const urls = [receiver, newer].map(({ port }) => `https://localhost:${port}/`)
    expect(await sendTrusting(urls)).toMatchObject([
      { kind: 'unavailable', code: 'tls_failure' },
      { kind: 'delivered' },
    ])
    expect(receiver.requests).toEqual([])
  })

  it('that speaks plain HTTP is a failure that may pass', async () => {
    await using receiver = await startReceiver()
    expect(await sender.send({ url: `https://127.0.0.1:${receiver.port}/`, ...request })).toMatchObject({
      kind: 'unavailable',
      code: 'tls_failure',
    })
  })
})
