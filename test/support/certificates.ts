/** Certificates for HTTPS receivers, made at run time: good and bad ones. */

// The library's dependency injection needs it, before it is loaded.
import 'reflect-metadata'
import type { webcrypto } from 'node:crypto'
import * as x509 from '@peculiar/x509'

/** What a TLS server needs, in PEM. */
export interface ServerCertificate {
  key: string
  cert: string
}

export interface Certificates {
  /** The authority that signed all but `selfSigned`, in PEM. */
  authority: string
  valid: ServerCertificate
  expired: ServerCertificate
  /** For the name other.example. */
  wrongHost: ServerCertificate
  selfSigned: ServerCertificate
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const dayMs = 24 * 60 * 60 * 1000

/** Certificates for 127.0.0.1, ::1 and localhost where not said otherwise. */
export const createCertificates = async (): Promise<Certificates> => {
  const authorityKeys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=Postrider test authority',
    keys: authorityKeys,
    signingAlgorithm: algorithm,
    ...validity(-1, 1),
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
    ],
  })

  const issue = async ({ names = localNames, days = [-1, 1] }: Leaf = {}): Promise<ServerCertificate> => {
    const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
    const certificate = await x509.X509CertificateGenerator.create({
      subject: 'CN=Postrider test receiver',
      issuer: authority.subject,
      publicKey: keys.publicKey,
      signingKey: authorityKeys.privateKey,
      signingAlgorithm: algorithm,
      ...validity(...days),
      extensions: [new x509.SubjectAlternativeNameExtension(names)],
    })
    return { key: await privateKeyPem(keys.privateKey), cert: certificate.toString('pem') }
  }

  const selfSign = async (): Promise<ServerCertificate> => {
    const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      name: 'CN=localhost',
      keys,
      signingAlgorithm: algorithm,
      ...validity(-1, 1),
      extensions: [new x509.SubjectAlternativeNameExtension(localNames)],
    })
    return { key: await privateKeyPem(keys.privateKey), cert: certificate.toString('pem') }
  }

  return {
    authority: authority.toString('pem'),
    valid: await issue(),
    expired: await issue({ days: [-3, -2] }),
    wrongHost: await issue({ names: [{ type: 'dns', value: 'other.example' }] }),
    selfSigned: await selfSign(),
  }
}

interface Leaf {
  names?: x509.JsonGeneralNames
  /** First and last moment of validity, in days from now. */
  days?: [number, number]
}

const localNames: x509.JsonGeneralNames = [
  { type: 'dns', value: 'localhost' },
  { type: 'ip', value: '127.0.0.1' },
  { type: 'ip', value: '::1' },
]

const validity = (fromDays: number, toDays: number): { notBefore: Date; notAfter: Date } => ({
  notBefore: new Date(Date.now() + fromDays * dayMs),
  notAfter: new Date(Date.now() + toDays * dayMs),
})

const privateKeyPem = async (key: webcrypto.CryptoKey): Promise<string> =>
  x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')
