import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import type { CreatedApiToken } from '../../../src/schemas/access.ts'
import type { Audience } from '../../../src/schemas/audience.ts'
import type { Source } from '../../../src/schemas/source.ts'
import { startReceiver } from '../../support/receiver.ts'
import { until } from '../../support/wait.ts'
import type { WebTest } from '../browser.ts'
import { pressAt, tabTo } from '../keyboard.ts'

/** Id of the choice of failed deliveries. */
const failed = (page: Page): Promise<string | null> =>
  page.getByRole('option', { name: 'Failed', exact: true }).getAttribute('id')

/** Whatever shows the name, or holds it as a value, and whether it does so in the name's own direction. */
const directionsOf = (page: Page, name: string): Promise<{ isOwn: boolean; shownBy: string }[]> =>
  page.evaluate(
    (wanted) =>
      [...document.querySelectorAll<HTMLElement>('main *')]
        .filter((one) =>
          one instanceof HTMLInputElement
            ? one.type !== 'hidden' && one.value === wanted
            : [...one.childNodes].some((node) => node instanceof Text && node.data.includes(wanted)),
        )
        .map((one) => ({
          isOwn: one.closest('[dir=auto], bdi') !== null || getComputedStyle(one).unicodeBidi === 'plaintext',
          shownBy: one.outerHTML.slice(0, 120),
        })),
    name,
  )

export const manners = (web: WebTest) =>
  describe('manners', () => {
    it('lead a viewer through no wizard, and say once and well-formed what the role may not do', async () => {
      const { body } = await web.node.api<CreatedApiToken>('POST', '/tokens', { name: 'Looker', role: 'viewer' })
      const { page } = await web.open({ signedInTo: web.node.url, token: body.token })
      await page.goto(`${web.node.url}/catalog/webhooks`)
      await page.getByText('Only administrators can connect a destination').waitFor()
      expect(await page.getByRole('button', { name: 'Next' }).count()).toBe(0)
    })

    it('show on a narrow screen who, when and which message, and never a long name beyond the page', async () => {
      const name = 'A'.repeat(200)
      const source = await web.node.createSource(name)
      const destination = await web.node.connect([source], [`http://127.0.0.1:9/${'b'.repeat(200)}`])
      await web.node.api('PATCH', `/destinations/${destination.id}`, { name: 'C'.repeat(150) })
      await web.node.api('POST', '/deletion-requests', { userIds: ['nobody'] })
      const event = { userId: 'ada', event: 'Narrow', messageId: 'narrow-1' }
      await web.node.post('/track', source.writeKey, event)
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.setViewportSize({ width: 375, height: 800 })
      await page.goto(`${web.node.url}/deliveries?sourceId=${source.id}`)
      const row = page.getByRole('row', { name: /Narrow/ })
      await row.waitFor()
      for (const text of ['ada', 'narrow-1', /ago|just now/])
        expect(await row.getByText(text).first().isVisible()).toBe(true)
      await page.goto(`${web.node.url}/settings?tab=audit`)
      const entry = page.getByRole('row', { name: /Created source/ }).first()
      await entry.getByText(/^admin, \d+ \w+ \d{4}, \d\d:\d\d:\d\d /).waitFor()
      await page.goto(`${web.node.url}/destinations`)
      await page.waitForFunction(() => document.querySelector('main table') !== null)
      // Nothing of it has to be scrolled to.
      const right = await page.evaluate(() => document.querySelector('main table')?.getBoundingClientRect().right)
      expect(right).toBeLessThanOrEqual(375)
      const paths = [
        '/sources',
        `/sources/${source.id}`,
        '/destinations',
        `/destinations/${destination.id}`,
        '/catalog/webhooks',
        '/deliveries',
        `/deliveries/${encodeURIComponent(`event/${source.id}/narrow-1`)}`,
        '/deletion-requests',
        '/settings?tab=audit',
      ]
      for (const path of paths) {
        await page.goto(web.node.url + path)
        await page.getByRole('heading', { level: 1 }).waitFor()
        await page.waitForFunction(() => document.querySelector('[aria-busy="true"]') === null)
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
        expect(overflow, path).toBeLessThanOrEqual(0)
        const cut = await page
          .locator('.mantine-Badge-label')
          .evaluateAll((labels) =>
            labels.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).map((one) => one.textContent),
          )
        expect(cut, path).toEqual([])
      }
    })

    it('read names in their own direction, wherever they are shown, chosen or changed', async () => {
      await using receiver = await startReceiver()
      const name = 'متجر (الكتب) 12'
      const source = await web.node.createSource(name)
      const destination = await web.node.connect([source], [receiver.url])
      await web.node.api('PATCH', `/destinations/${destination.id}`, { name })
      const { body: audience } = await web.node.api<Audience>('POST', '/audiences', {
        name,
        destinationIds: [destination.id],
      })
      await web.node.post('/track', source.writeKey, { userId: 'ada', event: 'Read', messageId: 'own-direction' })
      const { page } = await web.open({ signedInTo: web.node.url })
      for (const [path, last] of [
        [`/sources/${source.id}`, page.getByRole('button', { name: 'Rename' })],
        [`/destinations/${destination.id}`, page.getByRole('checkbox', { name })],
        [`/audiences/${audience.id}`, page.getByRole('button', { name: 'Delete audience' })],
        ['/catalog/webhooks', page.getByRole('checkbox', { name })],
        [
          `/deliveries?sourceId=${source.id}&destinationId=${destination.id}`,
          page.getByRole('row', { name: /own-direction/ }),
        ],
      ] as const) {
        await page.goto(web.node.url + path)
        await last.waitFor()
        const shown = await directionsOf(page, name)
        expect(shown.length, path).toBeGreaterThan(0)
        expect(
          shown.filter(({ isOwn }) => !isOwn),
          path,
        ).toEqual([])
      }
    })

    it('show on a narrow screen which events were turned away, and results that can be read', async () => {
      const source = await web.node.createSource('Narrow results')
      await web.node.connect([source], ['http://127.0.0.1:9/a-hook-with-quite-a-long-path'])
      await web.node.post('/track', source.writeKey, { userId: 'grace', messageId: 'narrow-bad' })
      await web.node.post('/track', source.writeKey, { userId: 'grace', event: 'Seen', messageId: 'narrow-good' })
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.setViewportSize({ width: 375, height: 800 })
      const row = page.getByRole('row', { name: /narrow-bad/ })
      // What was turned away is written down a moment later.
      await until('the page has it', async () => {
        await page.goto(`${web.node.url}/turned-away?sourceId=${source.id}`)
        return row.waitFor({ timeout: 5_000 }).then(
          () => true,
          () => false,
        )
      })
      for (const text of ['grace', 'narrow-bad', /ago|just now/]) await row.getByText(text).first().waitFor()
      await page.goto(`${web.node.url}/deliveries/${encodeURIComponent(`event/${source.id}/narrow-good`)}`)
      const url = page.getByRole('group', { name: /^Result of/ }).getByText('http://127.0.0.1:9/a-hook')
      await url.waitFor()
      expect((await url.boundingBox())?.width).toBeGreaterThan(200)
    })

    it('show the way past the menu to who comes to it, however the page is scrolled', async () => {
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.setViewportSize({ width: 1280, height: 200 })
      await page.goto(web.node.url)
      await page.getByRole('heading', { level: 1 }).waitFor()
      const skip = page.getByRole('link', { name: 'Skip to the page' })
      await tabTo(page, skip)
      await page.mouse.wheel(0, 100)
      await page.waitForFunction(() => window.scrollY === 100)
      const place = await skip.boundingBox()
      expect(place?.y).toBeGreaterThanOrEqual(0)
      await page.keyboard.press('Tab')
      expect((await skip.boundingBox())?.y).toBeLessThan(-20)
    })

    it('need no mouse: from a new source to a redelivery, by Tab, Enter, Escape and the arrows alone', async () => {
      await using receiver = await startReceiver()
      receiver.answer({ status: 404 })
      const { page } = await web.open({ signedInTo: web.node.url })
      const button = (name: string) => page.getByRole('button', { name, exact: true })
      const link = (name: string) => page.getByRole('link', { name, exact: true }).first()
      const dialog = page.getByRole('dialog')
      await page.goto(web.node.url)
      await pressAt(page, link('Sources'))
      await pressAt(page, button('Create a source').first())
      await dialog.getByLabel('Name').waitFor()
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      await page.waitForFunction(() => document.activeElement?.textContent === 'Create a source')
      await page.keyboard.press('Enter')
      await tabTo(page, dialog.getByLabel('Name'))
      await page.keyboard.type('By keyboard')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'By keyboard', level: 1 }).waitFor()

      await pressAt(page, link('Destinations'))
      await pressAt(page, link('Connect a destination'))
      await pressAt(page, link('Connect Webhooks'))
      await pressAt(page, page.getByRole('checkbox', { name: 'By keyboard' }), 'Space')
      await pressAt(page, button('Next'))
      const url = page.getByRole('group', { name: 'Endpoint 1' }).getByLabel('URL')
      // Each step begins where it is to be filled in.
      await page.waitForFunction((element) => document.activeElement === element, await url.elementHandle())
      await page.keyboard.type(`${receiver.url}/gone`)
      await page.keyboard.press('Enter')
      await button('Save and test').waitFor()
      await pressAt(page, button('Save and test'))
      await button('Switch on').waitFor()
      expect(await button('Switch on').evaluate((element) => element === document.activeElement)).toBe(false)
      await pressAt(page, button('Switch on'))
      await pressAt(page, link('Open the destination'))

      // A button that was at work has the focus again.
      await pressAt(page, button('Pause'))
      await button('Resume').waitFor()
      await page.waitForFunction(() => document.activeElement?.textContent === 'Resume')
      await page.keyboard.press('Enter')
      await button('Pause').waitFor()

      const { body } = await web.node.api<{ items: Source[] }>('GET', '/sources?limit=200')
      const source = body.items.find(({ name }) => name === 'By keyboard')
      await web.node.post('/track', source?.writeKey ?? '', { userId: 'ada', event: 'Typed', messageId: 'typed' })
      await receiver.received(1)
      await pressAt(page, link('Deliveries'))
      const status = page.getByRole('combobox', { name: 'Status' })
      await tabTo(page, status)
      await page.keyboard.press('ArrowDown')
      await page.getByRole('option', { name: 'Failed', exact: true }).waitFor()
      for (let down = 0; (await status.getAttribute('aria-activedescendant')) !== (await failed(page)); down++) {
        expect(down).toBeLessThan(20)
        await page.keyboard.press('ArrowDown')
      }
      await page.keyboard.press('Enter')
      await pressAt(page, page.getByRole('row', { name: /Typed/ }).getByRole('link', { name: 'Typed' }))
      await pressAt(page, button('Redeliver …'))
      await pressAt(page, dialog.getByRole('button', { name: 'Redeliver', exact: true }))
      await receiver.received(2)
      await page.getByText('Redelivery 1').first().waitFor()
    })

    it('keep the frame where nothing is', async () => {
      const { page } = await web.open({ signedInTo: web.node.url })
      for (const path of ['/no-such-page', '/sources/src_none', '/deliveries/none']) {
        await page.goto(web.node.url + path)
        await page.getByRole('heading', { level: 1 }).waitFor()
        expect(await page.getByRole('navigation', { name: 'Pages' }).count(), path).toBe(1)
      }
      await page.getByText(/No delivery has the id none: it may have been deleted/).waitFor()
    })
  })
