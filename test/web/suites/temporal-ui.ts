import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { adminToken, startTestApp } from '../../support/app.ts'
import { startReceiver } from '../../support/receiver.ts'
import { until } from '../../support/wait.ts'
import type { WebTest } from '../browser.ts'

/** What a page got of the codec server; `blocked` where the browser kept the answer from it. */
interface Answer {
  status: number | 'blocked'
  text: string
}

interface Call {
  url: string
  body: string
  namespace: string
  /** Sent along, as the UI does with the token of its own sign-in. */
  authorization?: string
}

/** Calls as the pages of the Temporal UI do, with cross-origin credentials. */
const decode = (page: Page, call: Call): Promise<Answer> =>
  page.evaluate(async ({ url, body, namespace, authorization }) => {
    const headers = {
      'Content-Type': 'application/json',
      'X-Namespace': namespace,
      ...(authorization !== undefined && { Authorization: authorization }),
    }
    try {
      const response = await fetch(`${url}/codec/decode`, { method: 'POST', credentials: 'include', headers, body })
      return { status: response.status, text: await response.text() }
    } catch {
      return { status: 'blocked' as const, text: '' }
    }
  }, call)

/** A site with one empty page. */
async function startSite(): Promise<AsyncDisposable & { url: string }> {
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>Another site</title>')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const base64 = (bytes: Uint8Array | null | undefined): string => Buffer.from(bytes ?? []).toString('base64')

export const temporalUi = (web: WebTest) =>
  describe('the Temporal UI in a browser', () => {
    it('shows an event in clear to who is signed in or has a token, and a page of another address shows none', async () => {
      await using ui = await startSite()
      await using elsewhere = await startSite()
      await using receiver = await startReceiver()
      await using node = await startTestApp({ environment: { TEMPORAL_UI_URL: ui.url } })
      const { url, namespace } = node
      const { client } = node.app.temporal
      const source = await node.createSource()
      await node.connect([source], [receiver.url])
      await node.post('/track', source.writeKey, { userId: 'shown-to-operators', event: 'Decoded' })
      await receiver.received(1)
      const workflowId = await until('Temporal lists it', async () => {
        for await (const one of client.workflow.list({ query: "WorkflowType = 'deliverEvent'" })) return one.workflowId
        return undefined
      })
      const { events } = await client.workflow.getHandle(workflowId).fetchHistory()
      const [payload] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? []
      const metadata = Object.entries(payload?.metadata ?? {}).map(([name, value]) => [name, base64(value)] as const)
      const body = JSON.stringify({
        payloads: [{ metadata: Object.fromEntries(metadata), data: base64(payload?.data) }],
      })
      expect(Buffer.from(payload?.data ?? []).toString()).not.toContain('shown-to-operators')
      const shown = ({ text }: Answer): string => {
        const { payloads } = JSON.parse(text) as { payloads: { data: string }[] }
        return Buffer.from(payloads[0]?.data ?? '', 'base64').toString()
      }

      const { page: operator } = await web.open({ signedInTo: url })
      await operator.goto(ui.url)
      const decoded = await decode(operator, { url, body, namespace })
      expect(decoded.status).toBe(200)
      expect(JSON.parse(shown(decoded))).toMatchObject({ message: { userId: 'shown-to-operators', event: 'Decoded' } })

      // The same session, at a page that nobody has named.
      await operator.goto(elsewhere.url)
      expect((await decode(operator, { url, body, namespace })).status).toBe('blocked')

      const { page: stranger } = await web.open()
      await stranger.goto(ui.url)
      expect(await decode(stranger, { url, body, namespace })).toMatchObject({
        status: 401,
        text: expect.stringMatching(/sign in/i) as string,
      })
      const byToken = await decode(stranger, { url, body, namespace, authorization: `Bearer ${adminToken}` })
      expect(shown(byToken)).toContain('shown-to-operators')
    })
  })
