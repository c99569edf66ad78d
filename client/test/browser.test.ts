/** A real page in Chromium: what waits when the page is left arrives. */

import { expect, it, onTestFinished, vi } from 'vitest'
import { describeInBrowser, launchChromium } from '../../test/support/chromium.ts'
import { startIngestServer } from './support/ingest-server.ts'
import { startPages } from './support/pages.ts'

describeInBrowser('a page', () => {
  it.each(['leaves for another page', 'is closed'])('delivers what waits when the user %s', async (way) => {
    const { ingest, pages, page } = await openPage()
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
    await vi.waitFor(() => expect(ingest.messages()).toHaveLength(2), { timeout: 60_000 })
    expect(ingest.messages()[1]).toMatchObject({ event: 'Left' })
    expect(ingest.requests.map(({ body }) => body.writeKey)).toEqual(['page-key', 'page-key'])
  })

  it('that came by plain HTTP has ids for its visitors and messages, too', async () => {
    const { ingest, pages, page } = await openPage()
    // Only localhost is excepted from what browsers keep from such pages.
    await page.addInitScript('delete Crypto.prototype.randomUUID')
    await page.goto(pages)
    await page.evaluate(`(async () => {
      const { Analytics } = await import('/analytics.js')
      const analytics = new Analytics('page-key', { endpoint: '${ingest.url}', remember: true })
      analytics.track({ event: 'First' })
      analytics.track({ event: 'Second' })
      await analytics.close()
    })()`)
    const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
    const [first, second] = ingest.messages()
    for (const id of [first?.messageId, second?.messageId, first?.anonymousId]) expect(id).toMatch(uuid)
    expect(first?.messageId).not.toBe(second?.messageId)
  })
})

/** A page of a browser, not yet opened, with where it comes from and where it sends to. */
async function openPage() {
  const ingest = await startIngestServer()
  onTestFinished(() => ingest.stop())
  const pages = await startPages()
  const browser = await launchChromium()
  onTestFinished(() => browser.close())
  return { ingest, pages, page: await browser.newPage() }
}
