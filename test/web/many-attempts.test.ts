/** A delivery that was tried more often than attempts are kept. */

import { expect, it, onTestFinished } from 'vitest'
import type { DeliveryDetail } from '../../src/schemas/delivery.ts'
import { startTestApp } from '../support/app.ts'
import { startReceiver } from '../support/receiver.ts'
import { describeInBrowser, launchChromium } from '../support/chromium.ts'
import { createNamespace } from '../support/temporal.ts'
import { eventually, openPage } from './browser.ts'

const limitMs = 300_000

describeInBrowser('attempts', () => {
  it(
    'of one that was tried very often are all counted, and it is said which are not listed',
    async () => {
      await using receiver = await startReceiver()
      receiver.answer({ status: 503 })
      await using node = await startTestApp({
        namespace: await createNamespace(),
        environment: { POSTRIDER_RETRY_INITIAL: '10ms', POSTRIDER_RETRY_MAX: '10ms', POSTRIDER_RETRY_WINDOW: '1h' },
      })
      const source = await node.createSource('Persistent')
      await node.connect([source], [receiver.url])
      await node.post('/track', source.writeKey, { userId: 'ada', event: 'Insisted', messageId: 'insisted' })
      const path = `/deliveries/${encodeURIComponent(`event/${source.id}/insisted`)}`
      const counted = async () => {
        const { body } = await node.api<DeliveryDetail>('GET', path)
        const [endpoint] = body.destinations.flatMap(({ endpoints }) => endpoints)
        return [body.status, body.attempts, endpoint?.attempts]
      }
      // Temporal pauses for a second or more, however short the pause is.
      await receiver.received(106, limitMs)
      // One that is under way is not known yet.
      const before = receiver.requests.length
      const [status, attempts, atEndpoint] = await counted()
      expect([status, atEndpoint]).toEqual(['retrying', attempts])
      expect(attempts).toBeGreaterThanOrEqual(before - 1)
      receiver.answer({})
      await eventually(async () => (await counted())[0]).toBe('delivered')
      const made = receiver.requests.length
      expect(await counted()).toEqual(['delivered', made, made])
      const browser = await launchChromium()
      onTestFinished(() => browser.close())
      const { page, errors } = await openPage(browser, { signedInTo: node.url })
      await page.goto(`${node.url}/deliveries`)
      await page
        .getByRole('row', { name: /Insisted/ })
        .getByText(`${made}`, { exact: true })
        .waitFor()
      await page.goto(node.url + path)
      // Kept are the first one and the newest hundred or so.
      const listed = (await node.api<DeliveryDetail>('GET', path)).body.timeline.length
      expect(made - listed).toBeGreaterThan(1)
      await page.getByText(`${made - listed} early attempts at ${receiver.url}`).waitFor()
      expect(errors).toEqual([])
    },
    2 * limitMs,
  )
})
