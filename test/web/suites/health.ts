import { describe, expect, it } from 'vitest'
import type { Page } from 'playwright-core'
import type { DestinationView } from '../../../src/schemas/destination.ts'
import type { Overview } from '../../../src/schemas/overview.ts'
import type { Source } from '../../../src/schemas/source.ts'
import { startReceiver } from '../../support/receiver.ts'
import { until } from '../../support/wait.ts'
import { eventually, seriousFindings, type WebTest } from '../browser.ts'

/** What operators see of destinations and their endpoints, beside what receivers got. */
export const health = (web: WebTest) =>
  describe('how destinations do', () => {
    const section = (page: Page, title: string) =>
      page.locator('section').filter({ has: page.getByRole('heading', { name: title, exact: true }) })
    const fact = (page: Page, name: string) => page.locator('dl > div').filter({ hasText: name }).locator('dd')
    const post = (source: Source, userId: string) =>
      web.node.post('/track', source.writeKey, { userId, event: 'Signed Up' })
    const named = async (destination: DestinationView, name: string): Promise<void> =>
      void (await web.node.api('PATCH', `/destinations/${destination.id}`, { name }))

    it('is shown with counts and reasons, and what waits is retried once the URL is mended', async () => {
      await using broken = await startReceiver()
      await using repaired = await startReceiver()
      broken.answer({ status: 503 })
      const source = await web.node.createSource('Watched shop')
      const destination = await web.node.connect([source], [broken.url])
      await named(destination, 'Watched CRM')
      for (const userId of ['ada', 'grace', 'linus']) await post(source, userId)
      await broken.received(3)

      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(web.node.url)
      const failing = page.getByRole('group', { name: `Failing: ${broken.url}` })
      await failing.getByText('The endpoint answered 503 Service Unavailable.').waitFor()
      await failing.getByText(`${broken.requests.length} failed attempts in this range`).waitFor()
      await failing.getByRole('link', { name: '3 deliveries wait for their next attempt' }).waitFor()
      await failing.getByText('Its events are retried automatically.').waitFor()
      // It stands above the figures.
      const headings = await page.getByRole('main').getByRole('heading', { level: 2 }).allTextContents()
      expect(headings.indexOf('Endpoints that fail now')).toBeLessThan(headings.indexOf('What became of it'))
      expect(headings).toContain('Endpoints that fail now')

      await page.goto(`${web.node.url}/destinations`)
      await page.getByRole('row', { name: /Watched CRM On Failing 3 3 failed/ }).waitFor()
      await page.goto(`${web.node.url}/sources`)
      await page.getByRole('row', { name: /Watched shop On 3/ }).waitFor()
      // Somebody else switches it off and makes another one.
      await web.node.api('PATCH', `/sources/${source.id}`, { enabled: false })
      await web.node.createSource('Watched, too')
      await page.getByRole('row', { name: /Watched shop Off 3/ }).waitFor()
      await page.getByRole('row', { name: /Watched, too On/ }).waitFor()
      await web.node.api('PATCH', `/sources/${source.id}`, { enabled: true })

      await page.goto(`${web.node.url}/destinations/${destination.id}`)
      const now = section(page, 'State of the endpoints')
      await now.getByText('Failing', { exact: true }).waitFor()
      await now.getByText('The endpoint answered 503 Service Unavailable.').waitFor()
      await eventually(() => fact(page, 'Requests that failed').textContent()).toBe(String(broken.requests.length))
      expect(await fact(page, 'Success rate').textContent()).toBe('0.0 %')
      expect(await seriousFindings(page)).toEqual([])

      const [endpoint] = destination.settings.webhooks
      const webhooks = [{ id: endpoint?.id, url: repaired.url }]
      await web.node.api('PATCH', `/destinations/${destination.id}`, { settings: { webhooks } })
      // How the former URL did says nothing of this one.
      await now.getByText('No delivery yet', { exact: true }).waitFor()
      expect(await now.getByText('503 Service Unavailable').count()).toBe(0)
      await now.getByRole('button', { name: 'Retry the 3 that wait' }).click()
      await repaired.received(3)
      await now.getByText('Retry ordered for 3 of 3.').waitFor()
      await now.getByText('Working', { exact: true }).waitFor()
      await eventually(() => fact(page, 'Requests that succeeded').textContent()).toBe(String(repaired.requests.length))
      await eventually(() => fact(page, 'Success rate').textContent()).toBe('50.0 %')
      expect(broken.requests).toHaveLength(3)
      expect(errors).toEqual([])
    })

    it('has the failures of a destination also where another one took the event, and leads to them', async () => {
      await using good = await startReceiver()
      await using bad = await startReceiver()
      bad.answer({ status: 404 })
      const source = await web.node.createSource('Half taken')
      const taking = await web.node.connect([source], [good.url])
      const refusing = await web.node.connect([source], [bad.url])
      await post(source, 'ada')
      await Promise.all([good.received(1), bad.received(1)])
      await until('the list has it', async () => {
        const path = `/deliveries/count?sourceId=${source.id}&status=partly_delivered`
        return (await web.node.api<{ count: number }>('GET', path)).body.count === 1
      })
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/destinations/${refusing.id}`)
      const failures = section(page, 'Recent failures')
      await failures.getByRole('link', { name: 'Signed Up' }).waitFor()
      await failures.getByText(/404/).waitFor()
      await page.goto(`${web.node.url}/destinations/${taking.id}`)
      await failures.getByText('No delivery that is still kept failed here for good.').waitFor()
      const row = page.getByRole('row', { name: /Signed Up/ })
      await page.goto(`${web.node.url}/deliveries?destinationId=${refusing.id}&status=failed`)
      await row.waitFor()
      await page.goto(`${web.node.url}/deliveries?destinationId=${taking.id}&status=delivered`)
      await row.waitFor()
      await page.goto(`${web.node.url}/deliveries?destinationId=${taking.id}&status=failed`)
      await page.getByText('No delivery matches these filters').waitFor()

      await page.goto(`${web.node.url}/?sourceId=${source.id}`)
      await page.getByText('Partly delivered').waitFor()
      await page.goto(`${web.node.url}/deliveries?sourceId=${source.id}&status=failed`)
      await page.getByText('No delivery matches these filters').waitFor()
      expect(await page.getByText('No destination took these.').count()).toBe(0)
      await page.getByRole('link', { name: '1 was taken by some destinations only', exact: true }).click()
      await page.getByRole('row', { name: /Signed Up.*Partly delivered|Partly delivered.*Signed Up/ }).waitFor()
      expect([good.requests.length, bad.requests.length]).toEqual([1, 1])
      good.answer({ status: 404 })
      await post(source, 'grace')
      await page.goto(`${web.node.url}/deliveries?sourceId=${source.id}&status=failed`)
      await row.waitFor()
      await page.getByText('No destination took these. 1 more was taken by some destinations only.').waitFor()
      expect(errors).toEqual([])
    })

    it('counts what waits for an endpoint, not what is retried elsewhere after it failed for good', async () => {
      await using gone = await startReceiver()
      gone.answer({ status: 404 })
      await using busy = await startReceiver()
      busy.answer({ status: 503 })
      const source = await web.node.createSource('One is gone')
      const destination = await web.node.connect([source], [gone.url])
      await web.node.connect([source], [busy.url])
      await post(source, 'ada')
      await Promise.all([gone.received(1), busy.received(1)])
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(web.node.url)
      const waiting = { name: '1 delivery waits for its next attempt' }
      await page
        .getByRole('group', { name: `Failing: ${busy.url}` })
        .getByRole('link', waiting)
        .waitFor()
      const failing = page.getByRole('group', { name: `Failing: ${gone.url}` })
      await failing
        .getByText('Nothing accepts events at this URL. Its events fail at once and are not retried.')
        .waitFor()
      expect(await failing.getByRole('link', waiting).count()).toBe(0)
      await page.goto(`${web.node.url}/destinations/${destination.id}`)
      await section(page, 'State of the endpoints').getByText('The endpoint answered 404 Not Found.').waitFor()
      await page.getByText('0.0 %').waitFor()
      expect(await page.getByRole('button', { name: /^Retry the/ }).count()).toBe(0)
    })

    it('counts nothing as waiting for an endpoint that refuses for good, beside one that is tried again', async () => {
      await using gone = await startReceiver()
      gone.answer({ status: 404 })
      await using busy = await startReceiver()
      busy.answer({ status: 503 })
      const source = await web.node.createSource('Two ways')
      await web.node.connect([source], [gone.url, busy.url])
      await post(source, 'ada')
      await Promise.all([gone.received(1), busy.received(1)])
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/?sourceId=${source.id}`)
      const waiting = { name: '1 delivery waits for its next attempt' }
      const rowOf = (url: string) => page.getByRole('group', { name: `Failing: ${url}` })
      await rowOf(busy.url).getByRole('link', waiting).waitFor()
      await rowOf(gone.url)
        .getByText(
          'Nothing accepts events at this URL. Events are not retried here; another endpoint of the destination may still take them.',
        )
        .waitFor()
      await rowOf(busy.url)
        .getByText('Events that no other endpoint of the destination took are retried automatically.')
        .waitFor()
      await rowOf(busy.url)
        .getByText(/^Failing for \d+ (s|min); 1 failed attempt in this range\./)
        .waitFor()
      expect(await rowOf(gone.url).getByRole('link', waiting).count()).toBe(0)
    })

    it('shows the newest to fail first, and all the others by and by', async () => {
      await using receiver = await startReceiver()
      receiver.answer({ status: 410 })
      const source = await web.node.createSource('Eleven gone')
      const urls = Array.from({ length: 11 }, (_, n) => `${receiver.url}/gone-${n}`)
      for (const [sent, url] of urls.entries()) {
        const destination = await web.node.connect([source], [url])
        await post(source, 'ada')
        await until(`${url} is seen to fail`, async () => {
          const { body } = await web.node.api<Overview>('GET', `/overview?destinationId=${destination.id}`)
          return body.failingEndpoints.length === 1
        })
        expect(receiver.requests.length).toBeGreaterThan(sent)
      }
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/?sourceId=${source.id}`)
      const shown = (): Promise<string[]> =>
        page
          .getByRole('group', { name: /^Failing: / })
          .evaluateAll((rows) => rows.map((row) => row.getAttribute('aria-label')?.split('/').at(-1) ?? ''))
      const newestFirst = urls.map((url) => url.split('/').at(-1) ?? '').reverse()
      await page.getByRole('button', { name: 'Show 1 of 1 more' }).waitFor()
      expect(await shown()).toEqual(newestFirst.slice(0, 10))
      await page.getByRole('button', { name: 'Show 1 of 1 more' }).click()
      await eventually(shown).toEqual(newestFirst)
    })

    it('says that an endpoint is down, since when and when it is probed, until it is back', async () => {
      await using receiver = await startReceiver()
      receiver.answer({ status: 503 })
      const source = await web.node.createSource('Sends on')
      const destination = await web.node.connect([source], [receiver.url])
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/destinations/${destination.id}`)
      const now = section(page, 'State of the endpoints')
      await now.getByText('No delivery yet').waitFor()
      let sent = 0
      await until('it is down', async () => {
        await post(source, `u${++sent}`)
        return now.getByText('Down', { exact: true }).isVisible()
      })
      await now.getByText(/Down for \d+ (s|min|h).*: only a single attempt is made now and then/).waitFor()
      await now.getByText(/The next one is made |The next event or retry is the next such attempt/).waitFor()
      // Fewer attempts than events: the others wait for a probe.
      await eventually(async () => {
        await post(source, `u${++sent}`)
        return receiver.requests.length < sent
      }).toBe(true)
      receiver.answer({})
      await now.getByText('Working', { exact: true }).waitFor()
    })

    it('is not said to be tried while its destination is paused or off', async () => {
      await using receiver = await startReceiver()
      receiver.answer({ status: 503 })
      const source = await web.node.createSource('Paused while it fails')
      const destination = await web.node.connect([source], [receiver.url])
      await named(destination, 'Rests')
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/destinations/${destination.id}`)
      const state = section(page, 'State of the endpoints')
      await until('it is down', async () => {
        for (let n = 0; n < 5; n++) await post(source, 'ada')
        return (await state.getByText(/only a single attempt is made now and then/).count()) > 0
      })
      await web.node.api('PATCH', `/destinations/${destination.id}`, { paused: true })
      await state.getByText('No attempt is made while the destination is paused or off.').waitFor()
      await page.goto(`${web.node.url}/?sourceId=${source.id}`)
      const row = page.getByRole('group', { name: `Failing: ${receiver.url}` })
      await row.getByText('The destination is paused: its events wait until it is resumed.').waitFor()
      await row.getByRole('link', { name: /(deliveries wait|delivery waits) until/ }).waitFor()
      expect(await row.getByText(/retried automatically|next attempt/).count()).toBe(0)
      await page.goto(`${web.node.url}/sources/${source.id}`)
      await section(page, 'Destinations').getByText('Paused', { exact: true }).waitFor()
      await web.node.api('PATCH', `/destinations/${destination.id}`, { paused: false, enabled: false })
      await section(page, 'Destinations').getByText('Off', { exact: true }).waitFor()
      await page.goto(`${web.node.url}/destinations/${destination.id}`)
      await state.getByText('No attempt is made while the destination is paused or off.').waitFor()
    })

    it('is said to go on by itself where its destination is held because it fails', async () => {
      await using receiver = await startReceiver()
      receiver.answer({ status: 503 })
      const source = await web.node.createSource('Held while it fails')
      const { id } = await web.node.connect([source], [receiver.url])
      const holding = { onFailing: 'hold', holdAfterSeconds: 1 }
      expect((await web.node.api('PATCH', `/destinations/${id}`, holding)).status).toBe(200)
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/destinations/${id}`)
      await until('it is held', async () => {
        for (let n = 0; n < 5; n++) await post(source, 'ada')
        return (await page.getByText('Held: deliveries wait, none is lost').count()) > 0
      })
      const state = section(page, 'State of the endpoints')
      expect(await state.getByText('No attempt is made').count()).toBe(0)
      await page.goto(`${web.node.url}/?sourceId=${source.id}`)
      const row = page.getByRole('group', { name: `Failing: ${receiver.url}` })
      await row.getByText(/its events wait, and go on by themselves when an endpoint answers/).waitFor()
      expect(await row.getByText('The destination is paused').count()).toBe(0)
    })

    it('sends an event again to the one destination that is chosen', async () => {
      await using receiver = await startReceiver()
      const source = await web.node.createSource('Two takers')
      const crm = await web.node.connect([source], [`${receiver.url}/crm`])
      await named(crm, 'The CRM')
      await named(await web.node.connect([source], [`${receiver.url}/shop`]), 'The shop')
      const gone = await web.node.connect([source], [`${receiver.url}/gone`])
      await named(gone, 'The old one')
      const { body } = await post(source, 'ada')
      await receiver.received(3)
      await web.node.api('PATCH', `/destinations/${gone.id}`, { enabled: false })
      const { page } = await web.open({ signedInTo: web.node.url })
      const id = `event/${source.id}/${(body.accepted as string[])[0]}`
      await page.goto(`${web.node.url}/deliveries/${encodeURIComponent(id)}`)
      await page.getByRole('button', { name: 'Redeliver …' }).click()
      await page.getByText('Switched off, so nothing is sent there: The old one').waitFor()
      await page.getByRole('combobox', { name: 'To' }).click()
      expect(await page.getByRole('option', { name: 'The old one' }).count()).toBe(0)
      await page.getByRole('option', { name: 'The CRM' }).click()
      await page.getByRole('button', { name: 'Redeliver', exact: true }).click()
      await eventually(() => page.url()).toContain('redelivery')
      await page.getByText('Delivered', { exact: true }).first().waitFor()
      expect(receiver.requests.slice(3).map(({ path }) => path)).toEqual(['/crm'])
    })

    it('sends an event again to the destination that the field names, whatever happens while it is chosen', async () => {
      await using receiver = await startReceiver()
      receiver.answer(({ path }) => ({ status: path === '/first' ? 503 : 200 }))
      const source = await web.node.createSource('Chosen early')
      await named(await web.node.connect([source], [`${receiver.url}/first`]), 'The first')
      await named(await web.node.connect([source], [`${receiver.url}/second`]), 'The second')
      await named(await web.node.connect([source], [`${receiver.url}/third`]), 'The third')
      const { body } = await post(source, 'ada')
      const id = encodeURIComponent(`event/${source.id}/${(body.accepted as string[])[0]}`)
      await receiver.received(3)
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/deliveries/${id}`)
      await page.getByRole('button', { name: 'Redeliver …' }).click()
      const to = page.getByRole('combobox', { name: 'To' })
      await to.click()
      await page.getByRole('option', { name: 'The second' }).waitFor()
      expect(await page.getByRole('option').allTextContents()).toEqual(['The second', 'The third'])
      await page.getByRole('option', { name: 'The second' }).click()
      // The first one takes it meanwhile, which makes it one more to choose from.
      receiver.answer({ status: 200 })
      await web.node.api('POST', `/deliveries/${id}/retry`)
      await receiver.received(4)
      await page.getByText('Retrying', { exact: true }).first().waitFor({ state: 'detached' })
      expect(await to.inputValue()).toBe('The second')
      await page.getByRole('button', { name: 'Redeliver', exact: true }).click()
      await eventually(() => page.url()).toContain('redelivery')
      await receiver.received(5)
      expect(receiver.requests.slice(3).map(({ path }) => path)).toEqual(['/first', '/second'])
    })

    it('sends an event again where it has failed, while a paused destination holds it', async () => {
      await using receiver = await startReceiver()
      receiver.answer({ status: 404 })
      const source = await web.node.createSource('Held by one')
      await named(await web.node.connect([source], [`${receiver.url}/crm`]), 'The refusing one')
      const paused = await web.node.connect([source], [`${receiver.url}/shop`])
      await named(paused, 'The paused one')
      await web.node.api('PATCH', `/destinations/${paused.id}`, { paused: true })
      const { body } = await post(source, 'ada')
      await receiver.received(1)
      receiver.answer({ status: 200 })
      const { page } = await web.open({ signedInTo: web.node.url })
      const id = `event/${source.id}/${(body.accepted as string[])[0]}`
      await page.goto(`${web.node.url}/deliveries/${encodeURIComponent(id)}`)
      await page.getByRole('button', { name: 'Redeliver …' }).click()
      const confirm = page.getByRole('button', { name: 'Redeliver', exact: true })
      await eventually(() => confirm.isDisabled()).toBe(true)
      await page.getByRole('combobox', { name: 'To' }).click()
      await page.getByRole('option', { name: 'The refusing one' }).waitFor()
      expect(await page.getByRole('option').allTextContents()).toEqual(['The refusing one'])
      await page.getByRole('option', { name: 'The refusing one' }).click()
      await confirm.click()
      await eventually(() => page.url()).toContain('redelivery')
      await page.getByText('Delivered', { exact: true }).first().waitFor()
      expect(receiver.requests.map(({ path }) => path)).toEqual(['/crm', '/crm'])
    })

    it('shows latency from the moment an event was accepted, a pause included', async () => {
      await using receiver = await startReceiver()
      const source = await web.node.createSource('Paused a while')
      const destination = await web.node.connect([source], [receiver.url])
      const steer = (paused: boolean) => web.node.api('PATCH', `/destinations/${destination.id}`, { paused })
      await steer(true)
      const postedAt = Date.now()
      await post(source, 'ada')
      await until('it has waited', () => Date.now() - postedAt > 2_200)
      await steer(false)
      const [arrived] = await receiver.received(1)
      expect((arrived?.arrivedAt.getTime() ?? 0) - postedAt).toBeGreaterThan(2_000)
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/?destinationId=${destination.id}`)
      const tile = page.getByRole('region', { name: 'From accepted to delivered' })
      await tile.getByText(/^[\d.]+ (s|min) \/ [\d.]+ (s|min)$/).waitFor()
      await page
        .getByRole('region', { name: 'A single attempt' })
        .getByText(/^[\d.]+ \S+ \/ [\d.]+ \S+$/)
        .waitFor()
    })
  })
