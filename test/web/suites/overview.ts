import { describe, expect, it, onTestFinished } from 'vitest'
import { startReceiver } from '../../support/receiver.ts'
import { eventually, seriousFindings, type WebTest } from '../browser.ts'

export const overview = (web: WebTest) =>
  describe('the overview', () => {
    it('counts for a source and for days, and leads from each number to what is behind it', async () => {
      await using receiver = await startReceiver()
      const source = await web.node.createSource('Counted')
      await web.node.connect([source], [receiver.url])
      const other = await web.node.connect([source], [receiver.url], { name: 'Counted for others' })
      const event = { messageId: 'counted', userId: 'ada', event: 'Counted' }
      await web.node.post('/track', source.writeKey, event)
      await receiver.received(2)
      await web.node.post('/track', source.writeKey, event)

      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(web.node.url)
      await page.getByRole('combobox', { name: 'Source' }).click()
      await page.getByRole('option', { name: 'Counted' }).click()
      await page.getByText('Days', { exact: true }).click()
      await page.getByRole('button', { name: 'First and last day' }).click()
      for (const day of [new Date(Date.now() - 24 * 3_600_000), new Date()]) {
        const name = day.toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric' })
        await page.getByRole('button', { name }).click()
      }
      await eventually(() => Object.keys(Object.fromEntries(new URL(page.url()).searchParams)).sort()).toEqual([
        'range',
        'since',
        'sourceId',
        'until',
      ])
      const taken = page.getByRole('link', { name: /^(Accepted|Duplicates)/ })
      await eventually(() => taken.allInnerTexts()).toEqual(['Accepted', 'Duplicates, of the accepted'])
      expect(await taken.first().getAttribute('href')).toMatch(/^\/deliveries\?/)
      // What came in is counted at the door, which knows no destinations: no list of one has as many.
      await page.getByRole('combobox', { name: 'Destination' }).click()
      await page.getByRole('option', { name: 'Counted for others' }).click()
      await page.getByText('What came in at its sources, also for other destinations').waitFor()
      expect(await taken.first().getAttribute('href')).toBe(`/sources/${source.id}`)
      const delivered = await page.getByRole('link', { name: 'Delivered', exact: true }).getAttribute('href')
      expect(delivered).toContain(`destinationId=${other.id}`)
      const rejected = await page.getByRole('link', { name: 'Rejected' }).getAttribute('href')
      expect(rejected).toMatch(
        new RegExp(`^/turned-away\\?.*sourceId=${source.id}&destinationId=${other.id}&fate=rejected$`),
      )
      await page.getByRole('link', { name: 'Delivered', exact: true }).click()
      await page.getByRole('heading', { name: 'Deliveries', level: 1 }).waitFor()
      expect(new URL(page.url()).searchParams.get('sourceId')).toBe(source.id)
      await page.getByRole('row', { name: /Counted.*Delivered/ }).waitFor()
      expect(errors).toEqual([])
    })

    it('says which part does not answer, as each page does, until it is back', async () => {
      onTestFinished(() => web.wayToTemporal.open())
      await using receiver = await startReceiver()
      receiver.answer(() => ({ status: 503 }))
      const source = await web.node.createSource('Fails meanwhile')
      await web.node.connect([source], [receiver.url])
      await web.node.post('/track', source.writeKey, { userId: 'ada', event: 'Fails meanwhile' })
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(web.node.url)
      await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
      const failing = page.getByRole('group', { name: `Failing: ${receiver.url}` })
      await failing.getByText('Its events are retried automatically.').waitFor()
      const banner = page.getByRole('status').filter({ hasText: 'does not answer' })
      expect(await banner.count()).toBe(0)

      web.wayToTemporal.freeze()
      await banner.waitFor()
      expect(await banner.textContent()).toMatch(
        /^Temporal does not answer.*Events are still accepted and wait in the inbox.*Since /,
      )
      await failing.getByText('Its events are retried once Temporal answers again.').waitFor()
      expect(await seriousFindings(page)).toEqual([])
      await page.getByRole('link', { name: 'Sources' }).first().click()
      await page.getByRole('heading', { name: 'Sources', level: 1 }).waitFor()
      expect(await banner.count()).toBe(1)

      web.wayToTemporal.open()
      await banner.waitFor({ state: 'detached' })
    })

    it('keeps the colours that were chosen, and has its menu behind a button where it is narrow', async () => {
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.setViewportSize({ width: 375, height: 800 })
      await page.goto(web.node.url)
      const scheme = () => page.evaluate(() => document.documentElement.dataset['mantineColorScheme'])
      await page.getByRole('button', { name: 'Colours' }).click()
      await page.getByRole('menuitem', { name: 'Dark' }).click()
      await eventually(scheme).toBe('dark')
      await page.reload()
      await page.getByRole('button', { name: 'Open the menu' }).click()
      await page.getByRole('button', { name: 'Close the menu' }).waitFor()
      await page.keyboard.press('Tab')
      await page.keyboard.press('Escape')
      const menu = page.getByRole('button', { name: 'Open the menu' })
      await menu.waitFor()
      await eventually(() => menu.evaluate((button) => button === document.activeElement)).toBe(true)
      await menu.click()
      await page.getByRole('link', { name: 'Sources' }).last().click()
      await page.getByRole('heading', { name: 'Sources', level: 1 }).waitFor()
      expect(await scheme()).toBe('dark')
    })
  })
