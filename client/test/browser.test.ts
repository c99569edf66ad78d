/** A real page in Chromium: what waits when the page is left arrives. */

import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { chromium } from 'playwright-core'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { startIngestServer } from './support/ingest-server.ts'

const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'
const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-gpu']

async function startPages(): Promise<string> {
  const library = readFileSync(resolve(import.meta.dirname, '../dist/esm/browser.js'))
  const server = createServer((request, response) => {
    const isScript = request.url === '/analytics.js'
    response.setHeader('Content-Type', isScript ? 'text/javascript' : 'text/html')
    response.end(isScript ? library : '<!doctype html><title>A page</title>')
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe.skipIf(!existsSync(executablePath))(`a page (in ${executablePath}, or CHROMIUM_PATH)`, () => {
  it.each(['leaves for another page', 'is closed'])('delivers what waits when the user %s', async (way) => {
    const ingest = await startIngestServer()
    onTestFinished(() => ingest.stop())
    const pages = await startPages()
    const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', ...quiet] })
    onTestFinished(() => browser.close())
    const page = await browser.newPage()
    await page.goto(pages)
    await page.evaluate(`(async () => {
      const { Analytics } = await import('/analytics.js')
      const analytics = new Analytics('page-key', { endpoint: '${ingest.url}', flushAfter: 3_600_000 })
      analytics.page({ anonymousId: 'a1', properties: { url: location.href } })
      await analytics.flush()
      analytics.track({ anonymousId: 'a1', event: 'Left' })
    })()`)
    expect(ingest.messages()).toMatchObject([{ type: 'page', properties: { url: `${pages}/` } }])
    if (way === 'is closed') await page.close({ runBeforeUnload: true })
    else await page.goto(`${pages}/next`)
    await vi.waitFor(() => expect(ingest.messages()).toHaveLength(2), { timeout: 20_000 })
    expect(ingest.messages()[1]).toMatchObject({ event: 'Left' })
    expect(ingest.requests.map(({ body }) => body.writeKey)).toEqual(['page-key', 'page-key'])
  })
})
