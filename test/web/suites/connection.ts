import { describe, expect, it, onTestFinished } from 'vitest'
import { startReceiver } from '../../support/receiver.ts'
import { startTcpRelay } from '../../support/tcp-relay.ts'
import { eventually, type WebTest } from '../browser.ts'

export const connection = (web: WebTest) =>
  describe('the connection', () => {
    it('is told on each page when the server is gone, with the age of what is shown, and goes on by itself', async () => {
      await using receiver = await startReceiver()
      await using way = await startTcpRelay(Number(new URL(web.node.url).port))
      const url = `http://127.0.0.1:${way.port}`
      const source = await web.node.createSource('Far')
      await web.node.connect([source], [receiver.url])
      await web.node.post('/track', source.writeKey, { userId: 'ada', event: 'Before' })
      await receiver.received(1)

      const { page } = await web.open({ signedInTo: url })
      await page.goto(`${url}/deliveries?sourceId=${source.id}`)
      await page.getByRole('row', { name: /Before.*Delivered/ }).waitFor()
      await page.getByText('Live', { exact: true }).waitFor()

      way.shut()
      const banner = page.getByRole('status', { name: 'Postrider does not answer' })
      await banner.waitFor()
      expect(await banner.textContent()).toMatch(/What you see is from \d+ \w+ \d{4}, .* ago/)
      await page.getByText('Not updating', { exact: true }).waitFor()
      await page.getByText(/^Not up to date: as it was .* ago, at /).waitFor()
      expect(await page.getByRole('row', { name: /Before.*Delivered/ }).count()).toBe(1)
      await web.node.post('/track', source.writeKey, { userId: 'ada', event: 'Meanwhile' })
      await receiver.received(2)

      way.open()
      await banner.waitFor({ state: 'detached' })
      await page.getByRole('row', { name: /Meanwhile.*Delivered/ }).waitFor()
      await page.getByText('Live', { exact: true }).waitFor()

      // A page whose file cannot be loaded meanwhile comes by itself.
      way.shut()
      await page.getByRole('link', { name: 'Sources' }).first().click()
      await banner.waitFor()
      way.open()
      await page.getByRole('heading', { name: 'Sources', level: 1 }).waitFor()
      await banner.waitFor({ state: 'detached' })

      // One that hangs is found out too.
      way.freeze()
      await banner.waitFor()
      await page.getByRole('link', { name: 'Audiences' }).first().click()
      way.shut()
      await banner.waitFor()
      way.open()
      await page.getByRole('heading', { name: 'Audiences', level: 1 }).waitFor()
      await page.getByRole('button', { name: 'Create an audience' }).first().waitFor()
    })

    it('is no reason for an outline for ever when Temporal is frozen: lists say so, and an event of the inbox is found', async () => {
      onTestFinished(() => web.wayToTemporal.open())
      await using receiver = await startReceiver()
      const source = await web.node.createSource('Frozen')
      await web.node.connect([source], [receiver.url])
      await web.node.post('/track', source.writeKey, { userId: 'ada', event: 'Before' })
      await receiver.received(1)
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/deliveries?sourceId=${source.id}`)
      await page.getByRole('row', { name: /Before.*Delivered/ }).waitFor()

      web.wayToTemporal.freeze()
      await page.getByText(/^Not up to date: as it was .* ago, at /).waitFor()
      await page.getByText(/^Temporal is away: .*this page continues by itself when it is back\.$/).waitFor()
      await page.getByText('Not updating', { exact: true }).waitFor()
      await web.node.post('/track', source.writeKey, { userId: 'ada', event: 'Meanwhile', messageId: 'in-the-inbox' })
      await page.goto(`${web.node.url}/deliveries?messageId=in-the-inbox`)
      await page.getByRole('row', { name: /Meanwhile.*Queued/ }).waitFor()
      await page.getByRole('link', { name: 'Meanwhile' }).click()
      await page.getByRole('heading', { name: 'Meanwhile', level: 1 }).waitFor()
      await page.getByText('Queued', { exact: true }).first().waitFor()
      // What was never read has no age, but a word.
      await page.goto(`${web.node.url}/deliveries?sourceId=${source.id}`)
      await page.getByRole('alert').filter({ hasText: 'Temporal is away' }).waitFor()

      web.wayToTemporal.open()
      await page.getByRole('row', { name: /Meanwhile.*Delivered/ }).waitFor()
    })

    it('is live no longer on any page as soon as the server hangs', async () => {
      await using way = await startTcpRelay(Number(new URL(web.node.url).port))
      const url = `http://127.0.0.1:${way.port}`
      const source = await web.node.createSource('Hanging')
      const pages = ['/deliveries', `/sources/${source.id}`]
      const opened = await Promise.all(pages.map(() => web.open({ signedInTo: url })))
      await Promise.all(opened.map(({ page }, index) => page.goto(`${url}${pages[index]}`)))
      const live = opened.map(({ page }) => page.getByText('Live', { exact: true }))
      await Promise.all(live.map((badge) => badge.waitFor()))
      way.freeze()
      await Promise.all(
        opened.map(({ page }) => page.getByRole('status', { name: 'Postrider does not answer' }).waitFor()),
      )
      expect(await Promise.all(live.map((badge) => badge.count()))).toEqual([0, 0])
      // What hangs in the relay never comes: the pages ask anew on other connections.
      way.shut()
      way.open()
      await Promise.all(live.map((badge) => badge.waitFor()))
    })

    it('keeps the overview as it was', async () => {
      await using way = await startTcpRelay(Number(new URL(web.node.url).port))
      const url = `http://127.0.0.1:${way.port}`
      const { page } = await web.open({ signedInTo: url })
      await page.goto(url)
      await page.getByRole('heading', { name: 'Over time' }).waitFor()
      // The chart is loaded after the numbers: without it, the page would have a part missing when the server goes.
      await page.getByText(/^In this range/).waitFor()
      await page.evaluate(() => {
        const watched = globalThis as unknown as { wasGone: boolean }
        watched.wasGone = false
        new MutationObserver(() => {
          watched.wasGone ||= !document.body.textContent.includes('Over time')
        }).observe(document.body, { childList: true, subtree: true })
      })
      way.shut()
      await page.getByText(/^Not up to date: as it was ([1-9]\d s|\d+ min) ago, at /).waitFor()
      way.open()
      await page.getByText(/^Not up to date: as it was/).waitFor({ state: 'detached' })
      await eventually(() => page.evaluate(() => (globalThis as unknown as { wasGone: boolean }).wasGone)).toBe(false)
    })
  })
