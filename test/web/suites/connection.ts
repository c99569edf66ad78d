import { rm } from 'node:fs/promises'
import { pino } from 'pino'
import type { Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findFreePorts } from '../../../src/ports.ts'
import type { CreatedApiToken } from '../../../src/schemas/access.ts'
import type { DestinationView } from '../../../src/schemas/destination.ts'
import type { Status } from '../../../src/schemas/system.ts'
import { makeDataFolder, startTestApp } from '../../support/app.ts'
import { startNodeProcess, type NodeProcess } from '../../support/node-process.ts'
import { findPostgres, startPostgres } from '../../support/postgres.ts'
import { startReceiver } from '../../support/receiver.ts'
import { startTcpRelay } from '../../support/tcp-relay.ts'
import { createNamespace, temporalAddress } from '../../support/temporal.ts'
import { eventually, type WebTest } from '../browser.ts'

/** Watches that a text stays on the page from now on. @returns tells whether it was gone for a moment */
async function watchFor(page: Page, text: string): Promise<() => Promise<boolean>> {
  await page.evaluate((wanted) => {
    const watched = globalThis as unknown as { wasGone: boolean }
    const look = (): boolean => (watched.wasGone ||= !document.body.textContent.includes(wanted))
    watched.wasGone = false
    look()
    new MutationObserver(look).observe(document.body, { childList: true, characterData: true, subtree: true })
  }, text)
  return () => page.evaluate(() => (globalThis as unknown as { wasGone: boolean }).wasGone)
}

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
      await page.getByText(/^Temporal is away: .*This page continues by itself when it is back\.$/).waitFor()
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
      // Nor is it live while it is asked for again.
      const wasLive = await watchFor(page, 'Not updating')
      for (let looks = 0; looks < 2; looks++) await page.waitForResponse('**/api/v1/deliveries?**')
      expect(await wasLive()).toBe(false)

      web.wayToTemporal.open()
      await page.getByRole('row', { name: /Meanwhile.*Delivered/ }).waitFor()
    })

    it('ends no count with the words of its beginning: what Temporal does not count is said to be unknown, until it is back', async () => {
      onTestFinished(() => web.wayToTemporal.open())
      await using receiver = await startReceiver()
      const source = await web.node.createSource('Uncounted')
      const { id } = await web.node.connect([source], [receiver.url])
      await web.node.api('PATCH', `/destinations/${id}`, { paused: true })
      await web.node.post('/track', source.writeKey, { userId: 'ada', event: 'Waits' })
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/deliveries?destinationId=${id}`)
      await page.getByRole('row', { name: /Waits.*Held/ }).waitFor()
      const destination = await page.context().newPage()

      web.wayToTemporal.freeze()
      await page.getByText(/^Not up to date: as it was .* ago, at /).waitFor()
      await page.getByRole('button', { name: 'Cancel …' }).click()
      const dialog = page.getByRole('dialog', { name: 'Cancel' })
      await dialog.getByText('They could not be counted').waitFor()
      expect(await dialog.getByText('Counting').count()).toBe(0)
      await destination.goto(`${web.node.url}/destinations/${id}`)
      const paused = destination.getByRole('alert').filter({ hasText: 'Paused: deliveries wait, none is lost' })
      await paused.getByText('They cannot be counted now.').waitFor()
      // Nor does it count while it asks again.
      const wasCounting = await watchFor(destination, 'They cannot be counted now.')
      await destination.waitForResponse('**/api/v1/deliveries/count?**status=held**')
      await destination.waitForResponse('**/api/v1/deliveries/count?**status=held**')
      expect(await wasCounting()).toBe(false)

      web.wayToTemporal.open()
      await dialog.getByText('1 delivery', { exact: true }).waitFor()
      await paused.getByRole('link', { name: '1 delivery waits for it.' }).waitFor()
    })

    it('is found again by pages that do not ask for news, too: a delivery that has ended', async () => {
      onTestFinished(() => web.wayToTemporal.open())
      await using receiver = await startReceiver()
      const source = await web.node.createSource('Over')
      await web.node.connect([source], [receiver.url])
      await web.node.post('/track', source.writeKey, { userId: 'ada', event: 'Ended', messageId: 'ended' })
      await receiver.received(1)
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/deliveries/${encodeURIComponent(`event/${source.id}/ended`)}`)
      await page.getByText('Delivered', { exact: true }).first().waitFor()
      await page.getByText('not yet', { exact: true }).waitFor({ state: 'detached' })

      web.wayToTemporal.shut()
      await page.getByRole('status', { name: 'Temporal does not answer' }).waitFor()
      const notUpToDate = page.getByText(/^Not up to date: as it was .* ago, at /)
      // Who comes back to the tab has it read anew, once it is some seconds old; then nothing asks.
      await eventually(async () => {
        if ((await notUpToDate.count()) === 1) return true
        await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })))
        return false
      }).toBe(true)
      await page.getByText(/^Temporal is away: .*This page continues by itself when it is back\.$/).waitFor()
      web.wayToTemporal.open()
      await notUpToDate.waitFor({ state: 'detached' })
    })

    it.skipIf(findPostgres() === undefined)(
      'promises no inbox where the database is away, too, and no figure that nobody knows',
      { timeout: 240_000 },
      async () => {
        const postgres = await startPostgres()
        onTestFinished(() => postgres.stop())
        const url = new URL(await postgres.createDatabase())
        await using database = await startTcpRelay(postgres.port)
        url.port = String(database.port)
        await using temporal = await startTcpRelay(Number(temporalAddress().split(':')[1]))
        const environment = { DATABASE_URL: url.href, TEMPORAL_ADDRESS: `127.0.0.1:${temporal.port}` }
        await using node = await startTestApp({ environment, logger: pino({ level: 'fatal' }) })
        const source = await node.createSource('Counted')
        await node.post('/track', source.writeKey, { userId: 'ada', event: 'Before' })
        const { body: viewer } = await node.api<CreatedApiToken>('POST', '/tokens', { name: 'Late', role: 'viewer' })
        const { page: late } = await web.open({ signedInTo: node.url, token: viewer.token })
        const { page } = await web.open({ signedInTo: node.url })
        const sources = await page.context().newPage()
        await sources.goto(`${node.url}/sources`)
        await sources.getByRole('row', { name: /^Counted On 1 / }).waitFor()
        await page.goto(node.url)
        await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
        const [ofTemporal, ofDatabase] = ['Temporal', 'The database'].map((part) =>
          page.getByRole('status', { name: `${part} does not answer` }),
        )
        temporal.shut()
        await ofTemporal?.getByText(/^Events are still accepted and wait in the inbox\. .*\.$/).waitFor()
        database.shut()
        await ofDatabase?.getByText(/events are refused, which well-made clients send again\. Since .*\.$/).waitFor()
        await ofTemporal?.getByText(/^Deliveries continue when it is back\. Since .*\.$/).waitFor()
        await sources.getByText(/^Not up to date: as it was .* ago, at /).waitFor()
        await sources.reload()
        await sources.getByRole('alert').filter({ hasText: 'The database is away' }).waitFor()
        expect(await sources.getByRole('row').count()).toBe(0)
        expect((await node.api<Status>('GET', '/status')).body.inboxDepth).toBe(null)
        await page.goto(`${node.url}/settings`)
        await page.getByRole('row', { name: 'Waiting in the inbox unknown' }).waitFor()
        // Its session cannot be looked up before the database is back.
        await late.goto(node.url)
        await late
          .getByRole('alert', { name: 'This page could not be shown' })
          .getByText(/This page continues by itself when it is back\.$/)
          .waitFor()
        temporal.open()
        database.open()
        await late.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
        for (const banner of [ofTemporal, ofDatabase]) await banner?.waitFor({ state: 'detached' })
      },
    )

    it('is shared by many tabs: none takes it from the others, and each recovers by itself when Temporal does', async () => {
      onTestFinished(() => web.wayToTemporal.open())
      const source = await web.node.createSource('Many tabs')
      const { page: first } = await web.open({ signedInTo: web.node.url })
      const open = async (page: Page, path: string): Promise<Page> => {
        await page.goto(web.node.url + path)
        await page.getByRole('heading', { level: 1 }).waitFor()
        return page
      }
      // A browser has six connections to one server for all its tabs: more than that show live events.
      const tabs = [await open(first, `/sources/${source.id}`)]
      for (let more = 0; more < 6; more++)
        tabs.push(await open(await first.context().newPage(), `/sources/${source.id}`))
      const paused = first.getByText(/^Paused: 3 tabs that were opened later show live events/)
      await paused.waitFor()
      const last = tabs.at(-1) ?? first
      await last.getByRole('status').getByText('Live', { exact: true }).waitFor()
      await first.getByRole('button', { name: 'Resume' }).click()
      await first.getByRole('status').getByText('Live', { exact: true }).waitFor()

      // More tabs than this ask more of a small machine than it answers while it waits for Temporal.
      for (const more of tabs.splice(1, 4)) await more.close()
      web.wayToTemporal.freeze()
      tabs.push(
        await open(await first.context().newPage(), '/'),
        await open(await first.context().newPage(), '/deliveries'),
      )
      const banners = tabs.map((page) => page.getByRole('status', { name: 'Temporal does not answer' }))
      await Promise.all(banners.map((banner) => banner.waitFor()))
      expect(await Promise.all(tabs.map((page) => page.getByText('Postrider does not answer').count()))).toEqual(
        tabs.map(() => 0),
      )
      web.wayToTemporal.open()
      await Promise.all(banners.map((banner) => banner.waitFor({ state: 'detached' })))
      await tabs.at(-1)?.getByText('Live', { exact: true }).waitFor()
    })

    it('comes back by itself when the node was stopped or killed, and what was typed meanwhile is there', async () => {
      const [namespace, dataDir] = [await createNamespace(), await makeDataFolder()]
      onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
      const [port] = await findFreePorts('127.0.0.1', 1)
      const start = async (): Promise<NodeProcess> => {
        const node = await startNodeProcess({ namespace, dataDir, environment: { PORT: String(port) } })
        onTestFinished(() => node.stop())
        return node
      }
      let node = await start()
      const source = await node.createSource('Kept')
      const destination = await node.connect([source], ['http://127.0.0.1:9/none'])
      const { page } = await web.open({ signedInTo: node.url })
      await page.goto(`${node.url}/destinations/${destination.id}`)
      const name = page.getByRole('textbox', { name: 'Name', exact: true })
      const banner = page.getByRole('status', { name: 'Postrider does not answer' })
      await page.evaluate(() => Object.assign(globalThis, { isSameLoad: true }))
      for (const [end, typed] of [
        ['kill', 'Typed before it was killed'],
        ['stop', 'Typed before it was stopped'],
      ] as const) {
        await name.fill(typed)
        await node[end]()
        await banner.waitFor()
        expect(await banner.textContent()).toMatch(/What you see is from \d+ \w+ \d{4}, .* ago/)
        await page.getByRole('textbox', { name: 'URL' }).fill(`http://127.0.0.1:9/${end}`)
        node = await start()
        await banner.waitFor({ state: 'detached' })
        expect(await name.inputValue()).toBe(typed)
        expect(await page.getByRole('textbox', { name: 'URL' }).inputValue()).toBe(`http://127.0.0.1:9/${end}`)
      }
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByText('Saved.').waitFor()
      expect(await page.evaluate(() => 'isSameLoad' in globalThis)).toBe(true)
      const { body } = await node.api<DestinationView>('GET', `/destinations/${destination.id}`)
      expect(body).toMatchObject({
        name: 'Typed before it was stopped',
        settings: { webhooks: [{ url: 'http://127.0.0.1:9/stop' }] },
      })
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

    it('stays lost while it is looked for, on a page that never had it', async () => {
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.route('**/api/v1/status', (route) => route.abort())
      await page.goto(`${web.node.url}/deliveries`)
      await page.getByRole('status', { name: 'Postrider does not answer' }).waitFor()
      await page.getByText('Not updating', { exact: true }).waitFor()
      const wasLive = await watchFor(page, 'Not updating')
      for (let looks = 0; looks < 2; looks++) await page.waitForRequest('**/api/v1/status')
      expect(await wasLive()).toBe(false)
      await page.unroute('**/api/v1/status')
      await page.getByText('Live', { exact: true }).waitFor()
    })

    it('keeps the overview as it was', async () => {
      await using way = await startTcpRelay(Number(new URL(web.node.url).port))
      const url = `http://127.0.0.1:${way.port}`
      const { page } = await web.open({ signedInTo: url })
      await page.goto(url)
      await page.getByRole('heading', { name: 'Over time' }).waitFor()
      // The chart is loaded after the numbers: without it, the page would have a part missing when the server goes.
      await page.getByText(/^In this range/).waitFor()
      const wasGone = await watchFor(page, 'Over time')
      way.shut()
      await page.getByText(/^Not up to date: as it was ([1-9]\d s|\d+ min) ago, at /).waitFor()
      way.open()
      await page.getByText(/^Not up to date: as it was/).waitFor({ state: 'detached' })
      expect(await wasGone()).toBe(false)
    })
  })
