/** Mail servers that want TLS and a password: a password goes out encrypted, to a server that is trusted, or not at all. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SMTPServerOptions } from 'smtp-server'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeDataFolder } from '../support/app.ts'
import { createCertificates, type Certificates } from '../support/certificates.ts'
import { startMailServer } from '../support/mail-server.ts'
import { startNodeProcess, type NodeProcess } from '../support/node-process.ts'
import { createNamespace } from '../support/temporal.ts'
import { addChannel } from './alerts.ts'

const password = 'p@ss:wo/rd'

let folder: string
let dataDir: string
let certificates: Certificates
let node: NodeProcess
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postrider-mail-'))
  certificates = await createCertificates()
  await writeFile(join(folder, 'authority.pem'), certificates.authority)
  dataDir = await makeDataFolder()
  // A program reads its authorities when it starts.
  const environment = { NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem') }
  node = await startNodeProcess({ namespace: await createNamespace(), dataDir, environment })
})
afterAll(async () => {
  await node.stop()
  await rm(dataDir, { recursive: true, force: true })
  await rm(folder, { recursive: true })
})

/** A mail server that takes mail from who knows the password, and keeps what it saw. */
async function startGuardedMailServer(options: SMTPServerOptions) {
  const tries: { password: string | null | undefined; isEncrypted: boolean }[] = []
  const server = await startMailServer({
    ...options,
    onAuth(auth, session, done) {
      tries.push({ password: auth.password, isEncrypted: session.secure })
      if (auth.username === 'postrider' && auth.password === password) done(null, { user: 'postrider' })
      else done(new Error('no such user'))
    },
  })
  return { ...server, tries }
}

/** What came of a test of a channel to that server. */
async function tellBy(smtpUrl: string) {
  const settings = { kind: 'email' as const, smtpUrl, from: 'postrider@example.com', to: ['ops@example.com'] }
  const { body: channel } = await addChannel(node, 'Mail', settings)
  const { body } = await node.api<{ outcome: string; error?: string }>('POST', `/alert-channels/${channel.id}/test`)
  await node.api('DELETE', `/alert-channels/${channel.id}`)
  return body
}

const withPassword = (given: string): string => `postrider:${encodeURIComponent(given)}@`

it('gives its password after STARTTLS', async () => {
  await using mail = await startGuardedMailServer(certificates.valid)
  expect(await tellBy(`smtp://${withPassword(password)}${mail.host}`)).toEqual({ outcome: 'told' })
  expect(mail.tries).toEqual([{ password, isEncrypted: true }])
  expect(mail.mails[0]).toContain('This is a test')
})

it('gives its password where TLS comes first', async () => {
  await using mail = await startGuardedMailServer({ ...certificates.valid, secure: true })
  expect(await tellBy(`smtps://${withPassword(password)}${mail.host}`)).toEqual({ outcome: 'told' })
  expect(mail.tries).toEqual([{ password, isEncrypted: true }])
  expect(mail.mails).toHaveLength(1)
})

it('gives no password to a server without TLS, nor to one that is not trusted or has another name', async () => {
  const plain = { disabledCommands: ['STARTTLS'], allowInsecureAuth: true }
  for (const options of [plain, certificates.selfSigned, certificates.wrongHost, certificates.expired]) {
    await using mail = await startGuardedMailServer(options)
    const { outcome, error } = await tellBy(`smtp://${withPassword(password)}${mail.host}`)
    expect(outcome).toBe('failed')
    expect(error).not.toContain(password)
    expect({ tries: mail.tries, mails: mail.mails }).toEqual({ tries: [], mails: [] })
  }
})

it('says that the password is wrong, and not which it is', async () => {
  await using mail = await startGuardedMailServer(certificates.valid)
  const { outcome, error } = await tellBy(`smtp://${withPassword('another-one')}${mail.host}`)
  expect(outcome).toBe('failed')
  expect(error).toMatch(/no such user/)
  expect(error).not.toContain('another-one')
  expect(mail.mails).toEqual([])
})
