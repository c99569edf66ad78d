/** The codec server: payloads in clear for the Temporal UI and the `temporal` command, to operators alone. */

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { defaultPayloadConverter } from '@temporalio/common'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Payloads } from '../../src/schemas/codec.ts'
import { adminToken, apiOf, startTestApp, type TestApp } from '../support/app.ts'
import { track, untilStatus } from '../support/deliveries.ts'
import { linesThatBegin } from '../support/page-lines.ts'
import { startReceiver } from '../support/receiver.ts'
import { testPayloads } from '../support/sealed-payloads.ts'
import { temporalAddress } from '../support/temporal.ts'

const uiUrl = 'http://127.0.0.1:8233'
const base64 = (bytes: Uint8Array | null | undefined): string => Buffer.from(bytes ?? []).toString('base64')

/** As the UI writes it. */
const asJson = ({ metadata, data }: ReturnType<typeof testPayloads.seal>) => ({
  metadata: Object.fromEntries(Object.entries(metadata ?? {}).map(([name, value]) => [name, base64(value)])),
  data: base64(data),
})
const plain = defaultPayloadConverter.toPayload({ userId: 'u1' })
const sealed = asJson(testPayloads.seal(plain))

let node: TestApp
let viewer: string
let cookie: string
beforeAll(async () => {
  node = await startTestApp({ environment: { TEMPORAL_UI_URL: `${uiUrl}/base`, POSTRIDER_ADMIN_PORT: '0' } })
  const made = await node.api<{ token: string }>('POST', '/tokens', { name: 'looks', role: 'viewer' })
  viewer = made.body.token
  const session = await fetch(`${node.url}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: adminToken }),
  })
  cookie = session.headers.get('set-cookie')?.split(';')[0] ?? ''
})
afterAll(() => node[Symbol.asyncDispose]())

const call = (path: string, headers: Record<string, string>, body: unknown = { payloads: [sealed] }) =>
  fetch(`${node.url}/codec/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-namespace': node.namespace, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

describe('the codec server', () => {
  it('opens payloads, and leaves those alone that were never sealed', async () => {
    const answer = await call('decode', bearer(adminToken), { payloads: [sealed, asJson(plain)] })
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual({ payloads: [asJson(plain), asJson(plain)] })
  })

  it('seals what an operator sends, so that nodes read it', async () => {
    const answer = await call('encode', bearer(adminToken), { payloads: [asJson(plain)] })
    const { payloads } = (await answer.json()) as Payloads
    expect(JSON.stringify(payloads)).not.toContain(base64(plain.data))
    const again = await call('decode', bearer(adminToken), { payloads })
    expect(await again.json()).toEqual({ payloads: [asJson(plain)] })
  })

  it('opens what the command of Temporal shows, as the page about running it says', async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    const id = await track(node, source, { userId: 'a user', event: 'Opened', messageId: 'opened' })
    const { temporalUiUrl } = await untilStatus(node, id, 'delivered')
    const [, workflowId = ''] = /\/workflows\/([^/]+)\//.exec(temporalUiUrl ?? '') ?? []
    const [line = ''] = linesThatBegin('temporal workflow show')
    const command = line
      .replace('temporal', `'${inject('temporalCli')}'`)
      .replace('…', `'${decodeURIComponent(workflowId)}'`)
      .replace('http://127.0.0.1:8080', node.url)
    const { stdout } = await promisify(execFile)('sh', ['-c', command], {
      env: {
        // A home without the user's own settings of Temporal.
        ...{ PATH: process.env['PATH'], HOME: node.dataDir, POSTRIDER_ADMIN_TOKEN: adminToken },
        ...{ TEMPORAL_ADDRESS: temporalAddress(), TEMPORAL_NAMESPACE: node.namespace },
      },
    })
    expect(stdout).toMatch(/userId: +a user$/m)
  })

  it('answers administrators alone: payloads hold the signatures and addresses that viewers do not see', async () => {
    const statuses = await Promise.all([
      call('decode', {}),
      call('decode', bearer('ptr_wrong')),
      call('encode', {}),
      call('decode', bearer(viewer)),
      call('encode', bearer(viewer)),
    ])
    expect(statuses.map(({ status }) => status)).toEqual([401, 401, 401, 403, 403])
    expect(await (await call('decode', bearer(viewer))).json()).toMatchObject({
      message: expect.stringContaining('payloads') as string,
    })
  })

  it('takes a session from pages of the Temporal UI, and of no other site', async () => {
    for (const origin of [uiUrl, 'http://localhost:8233']) {
      const taken = await call('decode', { cookie, origin })
      expect(taken.status).toBe(200)
      expect(taken.headers.get('access-control-allow-origin')).toBe(origin)
      expect(taken.headers.get('access-control-allow-credentials')).toBe('true')
    }
    const refusals = [{ cookie }, { cookie, origin: 'http://elsewhere.test' }, { cookie, origin: 'null' }]
    for (const headers of refusals) {
      const refused = await call('decode', headers)
      expect(refused.status).toBe(403)
      expect(refused.headers.get('access-control-allow-origin')).toBeNull()
    }
    const elsewhere = await fetch(`${node.url}/api/v1/sources`, {
      method: 'POST',
      headers: { cookie, origin: uiUrl, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Forged' }),
    })
    expect(elsewhere.status).toBe(403)
  })

  it('tells a browser whether it may ask', async () => {
    const ask = (origin: string) =>
      fetch(`${node.url}/codec/decode`, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'content-type,x-namespace',
        },
      })
    const yes = await ask(uiUrl)
    expect(yes.status).toBe(204)
    expect(yes.headers.get('access-control-allow-origin')).toBe(uiUrl)
    expect(yes.headers.get('access-control-allow-credentials')).toBe('true')
    expect(yes.headers.get('access-control-allow-headers')).toMatch(/x-namespace/i)
    expect((await ask('http://elsewhere.test')).headers.get('access-control-allow-origin')).toBeNull()
    const refused = await call('decode', { origin: uiUrl })
    expect(refused.status).toBe(401)
    expect(refused.headers.get('access-control-allow-origin')).toBe(uiUrl)
  })

  it('names what is wrong with a call', async () => {
    const changed = { ...sealed, data: base64(Buffer.alloc(60, 1)) }
    const metadata = { ...sealed.metadata, 'encryption-key-id': base64(Buffer.from('k9')) }
    const calls: [unknown, number, RegExp][] = [
      ['{', 400, /JSON/],
      [{}, 400, /payloads/],
      [{ payloads: [{ data: 'not base64!' }] }, 400, /payloads\[0\]\.data/],
      [{ payloads: [changed] }, 400, /"k1" is not the one/],
      [{ payloads: [{ ...sealed, metadata }] }, 503, /"k9" is not in POSTRIDER_ENCRYPTION_KEYS/],
      [{ payloads: [{ data: 'A'.repeat(7 * 1024 * 1024) }] }, 413, /larger/],
    ]
    for (const [body, status, message] of calls) {
      const answer = await call('decode', bearer(adminToken), body)
      expect({ status: answer.status, body: await answer.json() }).toMatchObject({
        status,
        body: { message: expect.stringMatching(message) as string },
      })
    }
  })

  it('stands on the port for operators, and not on that of the ingest API', async () => {
    const { url, ingestUrl } = node.app
    expect(ingestUrl).not.toBe(url)
    const statuses = [ingestUrl, url].map(async (base) => {
      const headers = { 'content-type': 'application/json', ...bearer(adminToken) }
      const body = JSON.stringify({ payloads: [sealed] })
      return (await fetch(`${base}/codec/decode`, { method: 'POST', headers, body })).status
    })
    expect(await Promise.all(statuses)).toEqual([404, 200])
  })

  it('is described, beside the management API', async () => {
    const { paths } = (await (await fetch(`${node.url}/openapi.json`)).json()) as { paths: object }
    expect(paths).toHaveProperty(['/codec/decode'])
    expect((await apiOf(node.url).api('GET', '/sources')).status).toBe(200)
  })
})
