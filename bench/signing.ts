/** `npm run bench:signing`: what signing a body costs beside the library for Standard Webhooks, whose hash is JavaScript. */

import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { signatureHeaders } from '../src/delivery/sign.ts'
import { openReport, quantile } from './support/figures.ts'

const rounds = 20
const signaturesPerRound = 2_000
const secret = `whsec_${randomBytes(24).toString('base64')}`
const at = new Date()

const report = openReport('Signing, processor time of one body in microseconds')
for (const bytes of [500, 5_000]) {
  const body = JSON.stringify({ text: 'x'.repeat(bytes) })
  const ours = (): unknown => signatureHeaders({ secrets: [secret], messageId: 'msg-1', body, at })
  const library = (): unknown => new Webhook(secret).sign('msg-1', at, body)
  const spent: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    spent[0].push(microsecondsOf(ours))
    spent[1].push(microsecondsOf(library))
  }
  report.add(`both signatures, ${bytes} bytes`, quantile(spent[0], 0.5), 'µs')
  report.add(`the library, its one alone, ${bytes} bytes`, quantile(spent[1], 0.5), 'µs')
}
report.close()

function microsecondsOf(sign: () => unknown): number {
  const before = process.cpuUsage()
  for (let n = 0; n < signaturesPerRound; n++) sign()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / signaturesPerRound
}
