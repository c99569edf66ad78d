import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { CreatedApiToken } from '../../../src/schemas/access.ts'
import type { DeletionRequestDetail } from '../../../src/schemas/deletion-request.ts'
import type { Delivery, DeliveryDetail } from '../../../src/schemas/delivery.ts'
import type { DestinationView } from '../../../src/schemas/destination.ts'
import { makeDataFolder, startTestApp } from '../../support/app.ts'
import { createCertificates } from '../../support/certificates.ts'
import { startReceiver } from '../../support/receiver.ts'
import { messageIdsOf } from '../../support/repeats.ts'
import { createNamespace } from '../../support/temporal.ts'
import { until } from '../../support/wait.ts'
import { eventually, signIn, type WebTest } from '../browser.ts'
import { pressAt } from '../keyboard.ts'

/** So many that steering them all takes seconds. */
const many = 150

export const deliveries = (web: WebTest) =>
  describe('deliveries', () => {
    const statuses = async (sourceId: string): Promise<string[]> => {
      const { body } = await web.node.api<{ items: Delivery[] }>('GET', `/deliveries?sourceId=${sourceId}`)
      return body.items.map(({ status }) => status).sort()
    }

    it('name what they came from and went to after it is deleted', async () => {
      await using receiver = await startReceiver()
      const source = await web.node.createSource('Old shop')
      const { id } = await web.node.connect([source], [receiver.url], { name: 'Old CRM' })
      await web.node.post('/track', source.writeKey, { userId: 'u1', event: 'Last order', messageId: 'last' })
      await eventually(() => statuses(source.id)).toEqual(['delivered'])
      await web.node.api('DELETE', `/destinations/${id}`)
      await web.node.api('DELETE', `/sources/${source.id}`)

      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/deliveries?sourceId=${source.id}`)
      const row = page.getByRole('row', { name: /Last order/ })
      await row.getByText('Old shop (deleted)').waitFor()
      await row.getByText('to Old CRM (deleted)').waitFor()
      await row.getByRole('link', { name: 'Last order' }).click()
      const result = page.getByRole('group', { name: 'Result of Old CRM (deleted)' })
      await result.getByText('1 attempt').waitFor()
      expect(await result.getByRole('link').count()).toBe(0)
      await page.getByText('Old shop (deleted)', { exact: true }).waitFor()
      await page.getByRole('tab', { name: 'Body', exact: true }).click()
      await page.getByText('The event as it came in; its endpoints have been deleted.').waitFor()
      expect(errors).toEqual([])
    })

    it('show no bare id of an endpoint that was deleted before it was tried', async () => {
      const source = await web.node.createSource('Untried')
      const { id } = await web.node.connect([source], ['http://127.0.0.1:9/untried'], { name: 'Untried CRM' })
      await web.node.api('PATCH', `/destinations/${id}`, { paused: true })
      await web.node.post('/track', source.writeKey, { userId: 'u1', event: 'Untried', messageId: 'untried' })
      await eventually(() => statuses(source.id)).toEqual(['held'])
      await web.node.api('DELETE', `/destinations/${id}`)
      await eventually(() => statuses(source.id)).toEqual(['discarded'])

      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/deliveries/${encodeURIComponent(`event/${source.id}/untried`)}`)
      const result = page.getByRole('group', { name: 'Result of Untried CRM (deleted)' })
      await result.getByText('0 attempts').waitFor()
      expect(await page.getByText(/ep_[0-9a-f]+/i).allTextContents()).toEqual([])
      await result.getByText('Deleted endpoint', { exact: true }).waitFor()
    })

    it('offer a redelivery only where there is one: to no viewer, and of nothing that was erased', async () => {
      await using receiver = await startReceiver()
      receiver.answer({ status: 404 })
      const source = await web.node.createSource('Once failed')
      await web.node.connect([source], [receiver.url])
      await web.node.post('/track', source.writeKey, { userId: 'u1', event: 'Refused', messageId: 'refused' })
      await eventually(() => statuses(source.id)).toEqual(['failed'])
      const path = `/deliveries/${encodeURIComponent(`event/${source.id}/refused`)}`
      const { body: viewer } = await web.node.api<CreatedApiToken>('POST', '/tokens', { name: 'On', role: 'viewer' })
      const { page } = await web.open({ signedInTo: web.node.url })
      const { page: ofViewer } = await web.open({ signedInTo: web.node.url, token: viewer.token })
      const why = /the answer HTTP 404 is final/
      const offer = 'Once the cause is fixed, you can redeliver it.'
      for (const each of [page, ofViewer]) {
        await each.goto(web.node.url + path)
        await each.getByText(why).waitFor()
      }
      await page.getByText(offer).waitFor()
      expect(await ofViewer.getByText(offer).count()).toBe(0)

      receiver.answer({})
      const asked = { userIds: ['u1'], sourceIds: [source.id] }
      const { body } = await web.node.api<DeletionRequestDetail>('POST', '/deletion-requests', asked)
      await eventually(async () => {
        const answer = await web.node.api<DeletionRequestDetail>('GET', `/deletion-requests/${body.id}`)
        return answer.body.erasedAt
      }).not.toBe(null)
      await page.reload()
      await page.getByText('The user was deleted, and what this event held was erased.').waitFor()
      await page.getByText(why).waitFor()
      expect(await page.getByText(offer).count()).toBe(0)
    })

    it('shows why they fail, and wakes them once the endpoint is repaired', async () => {
      await using broken = await startReceiver()
      await using repaired = await startReceiver()
      broken.answer({ status: 503, body: 'database is down' })
      const source = await web.node.createSource('Shop')
      const secret = { sharedSecret: "ada's", headers: { 'X-Team': "it's us" } }
      const destination = await web.node.connect([source], [`${broken.url}/hook`], secret)
      for (const userId of ['ada', 'grace', 'linus'])
        await web.node.post('/track', source.writeKey, { userId, event: 'Signed Up', messageId: `m-${userId}` })
      await eventually(() => statuses(source.id)).toEqual(['retrying', 'retrying', 'retrying'])

      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/deliveries?sourceId=${source.id}&userId=ada`)
      await page.getByRole('link', { name: 'Signed Up' }).click()
      await page.getByText('HTTP 503').first().waitFor()
      await page.getByText('database is down').waitFor()
      await page.getByText(/Next attempt in \d/).waitFor()
      await page.getByRole('button', { name: 'Request and response' }).first().click()
      const asSent = await page.getByRole('region', { name: 'request headers' }).textContent()
      expect(asSent).toContain(`POST ${broken.url}`)
      expect(asSent).toContain('X-Team: ********')
      await page.getByRole('region', { name: 'response headers' }).getByText('HTTP 503').waitFor()
      await page.getByRole('button', { name: 'Request and response' }).first().click()
      const uiLink = await page.getByRole('link', { name: 'Temporal UI' }).getAttribute('href')
      expect(uiLink).toContain('http://127.0.0.1:8233/')
      await page.getByRole('tab', { name: 'Body', exact: true }).click()
      const body = await page.getByRole('region', { name: 'body', exact: true }).textContent()
      const sent = broken.requests.find((request) => request.body.includes('"ada"'))
      expect(body).toBe(sent?.body.toString())

      await page.getByRole('tab', { name: 'Formatted' }).click()
      await page.getByRole('region', { name: 'formatted body' }).getByText('"event": "Signed Up"').waitFor()
      await page.getByRole('tab', { name: 'Headers' }).click()
      await page.getByRole('region', { name: 'headers' }).getByText("X-Team: it's us").waitFor()
      await page.getByRole('tab', { name: 'curl' }).click()
      const command = await page.getByRole('region', { name: 'curl command' }).textContent()
      await promisify(execFile)('sh', ['-c', command ?? ''])
      const repeated = broken.requests.at(-1)
      expect(repeated?.body.toString()).toBe(body)
      expect(repeated?.headers['x-team']).toBe("it's us")
      const signature = createHmac('sha1', "ada's")
        .update(repeated?.body ?? '')
        .digest('hex')
      expect(repeated?.headers['x-signature']).toBe(signature)
      expect(repeated?.headers['webhook-signature']).toBe(sent?.headers['webhook-signature'])

      await page.getByRole('button', { name: 'Retry now …' }).click()
      await page.getByLabel('Why').fill('the database is back')
      await page.keyboard.press('Enter')
      await page.getByText('Retry requested: each attempt is listed below as it is made').waitFor()
      await page.getByText(/by admin: the database is back$/).waitFor()

      await page.goto(`${web.node.url}/deliveries?sourceId=${source.id}&userId=linus`)
      await page.getByRole('link', { name: 'Signed Up' }).click()
      await page.getByRole('button', { name: 'Cancel …' }).click()
      await page.getByLabel('Why').fill('he asked for it')
      await page.getByRole('button', { name: 'Cancel the delivery' }).click()
      await page.getByText(/by admin: he asked for it$/).waitFor()
      await page.getByText('Cancelled', { exact: true }).first().waitFor()

      await page.getByRole('link', { name: 'Test destination' }).click()
      await page.getByRole('textbox', { name: 'URL' }).fill(`${repaired.url}/hook`)
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByText('Saved.').waitFor()

      await page.goto(`${web.node.url}/deliveries?status=retrying&destinationId=${destination.id}`)
      await page.getByRole('button', { name: 'Retry now …' }).click()
      await page.getByText('2 deliveries').waitFor()
      await page.getByRole('button', { name: 'Retry now 2' }).click()
      await page.getByText('Done: 2 of 2').waitFor()
      await page.getByRole('button', { name: 'Close' }).last().click()
      await repaired.received(2)
      await eventually(() => statuses(source.id)).toEqual(['cancelled', 'delivered', 'delivered'])
      expect(errors).toEqual([])
    })

    it('say that the endpoint asked for the pause before the next attempt, and that a failure without an answer is final', async () => {
      const { selfSigned } = await createCertificates()
      await using busy = await startReceiver()
      await using untrusted = await startReceiver({ tls: selfSigned })
      busy.answer({ status: 429, headers: { 'retry-after': '2700' } })
      const source = await web.node.createSource('Patient')
      await web.node.connect([source], [busy.url])
      const id = encodeURIComponent(`event/${source.id}/asked`)
      await web.node.post('/track', source.writeKey, { userId: 'ada', event: 'Asked', messageId: 'asked' })
      await eventually(() => statuses(source.id)).toEqual(['retrying'])
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/deliveries/${id}`)
      await page.getByText(/^Next attempt in 4\d(\.\d)? min; the endpoint asked for a pause of 45 min$/).waitFor()

      const other = await web.node.createSource('Distrustful')
      await web.node.connect([other], [untrusted.url])
      await web.node.post('/track', other.writeKey, { userId: 'ada', event: 'Lost', messageId: 'lost' })
      await eventually(() => statuses(other.id)).toEqual(['failed'])
      await page.goto(`${web.node.url}/deliveries/${encodeURIComponent(`event/${other.id}/lost`)}`)
      await page.getByText('It will not be tried again: the failure is one that does not pass by itself.').waitFor()
    })

    it('leave the focus at the next action when they are cancelled by the keyboard', async () => {
      await using busy = await startReceiver()
      busy.answer({ status: 503 })
      const source = await web.node.createSource('Called off')
      await web.node.connect([source], [busy.url])
      await web.node.post('/track', source.writeKey, { userId: 'ada', event: 'Called off', messageId: 'off' })
      await eventually(() => statuses(source.id)).toEqual(['retrying'])
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/deliveries/${encodeURIComponent(`event/${source.id}/off`)}`)
      await page.getByRole('button', { name: 'Cancel …' }).focus()
      await page.keyboard.press('Enter')
      await pressAt(page, page.getByRole('button', { name: 'Cancel the delivery' }))
      const next = page.getByRole('button', { name: 'Redeliver …' })
      await next.and(page.locator(':focus')).waitFor()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      expect(await next.evaluate((button) => button === document.activeElement)).toBe(true)
    })

    it('gives each answer of a delivery a name of its own', async () => {
      await using first = await startReceiver()
      await using second = await startReceiver()
      for (const receiver of [first, second]) receiver.answer({ status: 503, body: 'busy' })
      const source = await web.node.createSource('Answered twice')
      await web.node.connect([source], [first.url, second.url])
      await web.node.post('/track', source.writeKey, { userId: 'ada', event: 'Signed Up', messageId: 'twice' })
      await Promise.all([first.received(1), second.received(1)])
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/deliveries/${encodeURIComponent(`event/${source.id}/twice`)}`)
      const answers = page.getByRole('region', { name: /^Beginning of the answer/ })
      await eventually(() => answers.count()).toBe(2)
      for (const button of await page.getByRole('button', { name: 'Request and response' }).all()) await button.click()
      await page.getByRole('region', { name: 'response headers' }).nth(1).waitFor()
      const regions = page.getByRole('main').locator('[role="region"][aria-label]')
      const names = await regions.evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')))
      expect(names.length).toBeGreaterThanOrEqual(6)
      expect(new Set(names).size).toBe(names.length)
    })

    it('says until when it is retried: from the first attempt there on, for as long as it was to be when it came', async () => {
      await using receiver = await startReceiver()
      receiver.answer(({ path }) => ({ status: path === '/taken' ? 200 : 503 }))
      const source = await web.node.createSource('Slow street')
      await web.node.connect([source], [`${receiver.url}/taken`])
      const { id } = await web.node.connect([source], [`${receiver.url}/busy`])
      await web.node.api('PATCH', `/destinations/${id}`, { paused: true })
      await web.node.post('/track', source.writeKey, { userId: 'ada', event: 'Later', messageId: 'later' })
      await eventually(() => statuses(source.id)).toEqual(['held'])
      await receiver.received(1)
      await sleep(2_000)
      await web.node.api('PATCH', `/destinations/${id}`, { paused: false })
      await receiver.received(2)
      const path = `/deliveries/${encodeURIComponent(`event/${source.id}/later`)}`
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(web.node.url + path)
      const told = page.getByText(/will be tried again until/)
      await told.waitFor()
      const { body } = await web.node.api<DeliveryDetail>('GET', path)
      const there = body.timeline.find(({ status }) => status === 503)?.at ?? ''
      const end = await page.evaluate(
        (at) => new Date(Date.parse(at) + 4 * 3_600_000).toLocaleTimeString('en-GB'),
        there,
      )
      expect(await told.textContent()).toContain(`${end} `)
      expect(errors).toEqual([])

      const [namespace, dataDir] = [await createNamespace(), await makeDataFolder()]
      onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
      const retries = { POSTRIDER_RETRY_INITIAL: '30m', POSTRIDER_RETRY_MAX: '1h' }
      const startWith = (window: string) =>
        startTestApp({ namespace, dataDir, environment: { ...retries, POSTRIDER_RETRY_WINDOW: window } })
      let before: string
      {
        await using node = await startWith('3h')
        const early = await node.createSource('Early')
        await node.connect([early], [`${receiver.url}/busy`])
        await node.post('/track', early.writeKey, { userId: 'ada', event: 'Before', messageId: 'before' })
        await receiver.received(3)
        before = `/deliveries/${encodeURIComponent(`event/${early.id}/before`)}`
      }
      await using node = await startWith('2h')
      await page.goto(`${node.url}/login`)
      await signIn(page, node.url)
      await page.goto(node.url + before)
      await page.getByText(/It will be tried again until .*, 3 h after its first attempt/).waitFor()
    })

    it('says of one that no attempt was made for, as its endpoint was down, that its time is over', async () => {
      await using receiver = await startReceiver()
      receiver.answer({ status: 503 })
      await using node = await startTestApp({
        namespace: await createNamespace(),
        environment: { POSTRIDER_RETRY_WINDOW: '10s', POSTRIDER_RETRY_INITIAL: '1m', POSTRIDER_RETRY_MAX: '1m' },
      })
      const source = await node.createSource('Never open')
      const { id: destinationId } = await node.connect([source], [receiver.url])
      const post = (messageId: string) =>
        node.post('/track', source.writeKey, { userId: 'ada', event: 'Knocked', messageId })
      const isDown = async (): Promise<boolean> => {
        const { body } = await node.api<DestinationView>('GET', `/destinations/${destinationId}`)
        return body.endpoints[0]?.state === 'down'
      }
      const untried = async (begin: string) => {
        const path = `/deliveries?status=failed&sourceId=${source.id}&limit=200`
        const { items } = (await node.api<{ items: Delivery[] }>('GET', path)).body
        return items.find(({ attempts, messageId }) => attempts === 0 && messageId.startsWith(begin))
      }
      // Many failures tell that it is down; of those that come from then on, few are its probes.
      for (let knocks = 0; !(await isDown()); knocks++) {
        expect(knocks).toBeLessThan(500)
        await post(`knock-${knocks}`)
      }
      for (let late = 0; late < 10; late++) await post(`late-${late}`)
      await eventually(() => untried('late')).toBeDefined()
      const { page, errors } = await web.open({ signedInTo: node.url })
      // The last that came wait in the inbox for it; those before them may have begun already.
      const found = [await untried('late'), await untried('knock')].filter((one) => one !== undefined)
      expect(found).not.toEqual([])
      for (const delivery of found) {
        await page.goto(`${node.url}/deliveries/${encodeURIComponent(delivery.id)}`)
        await page.getByText('It will not be tried again: the time for retries is over.').waitFor()
        expect(delivery.reason).toMatch(
          /^not attempted: (the endpoint is down since \S+Z|its endpoints were down for as long as it might be retried)$/,
        )
        // Nothing that is over is probed.
        expect(await page.getByText(/next probe/i).count()).toBe(0)
      }
      expect(errors).toEqual([])
    })

    it('says in the list where each goes, how often it was tried and why, and which failure is final', async () => {
      await using receiver = await startReceiver()
      receiver.answer(({ path }) => ({ status: path === '/gone' ? 404 : 503 }))
      const source = await web.node.createSource('Night shop')
      const other = await web.node.createSource('Day shop')
      await web.node.connect([source], [`${receiver.url}/busy`])
      await web.node.connect([other], [`${receiver.url}/gone`])
      await web.node.post('/track', source.writeKey, { userId: 'ada', event: 'Rung', messageId: 'rung' })
      await web.node.post('/track', other.writeKey, { userId: 'ada', event: 'Mislaid', messageId: 'mislaid' })
      await eventually(async () => [...(await statuses(source.id)), ...(await statuses(other.id))]).toEqual([
        'retrying',
        'failed',
      ])
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.setViewportSize({ width: 1600, height: 900 })
      await page.goto(`${web.node.url}/deliveries?event=Rung`)
      await page.getByText('Shown: 1 of 1').waitFor()
      const attempts = receiver.requests.filter(({ path }) => path === '/busy').length
      await page
        .getByRole('row', {
          name: new RegExp(`Rung.*next in \\d.*503.*Night shop to Test destination ${attempts} rung`),
        })
        .waitFor()
      await page.getByRole('link', { name: 'Rung' }).click()
      await page.getByText(/It will be tried again until .*, 4 h after its first attempt/).waitFor()

      await page.goto(`${web.node.url}/deliveries`)
      await page.getByLabel('Event name, exact').fill('Mislaid')
      await page.getByRole('row', { name: /Mislaid.*404/ }).waitFor()
      await page.getByRole('link', { name: 'Mislaid' }).click()
      await page.getByText('It will not be tried again: the answer HTTP 404 is final.').waitFor()
      await page.getByText(`${receiver.url}/gone: The endpoint answered 404 Not Found.`, { exact: true }).waitFor()

      // Of several endpoints, the one that is not tried again is named, and what becomes of the others.
      const both = await web.node.createSource('Corner shop')
      const urls = [`${receiver.url}/gone`, `${receiver.url}/busy`]
      const { id } = await web.node.connect([both], urls, { options: { retryWindowHours: 20 } })
      await web.node.api('PATCH', `/destinations/${id}`, { retryWindowHours: 12 })
      await web.node.post('/track', both.writeKey, { userId: 'ada', event: 'Half', messageId: 'half' })
      await eventually(() => statuses(both.id)).toEqual(['retrying'])
      const gone = `${receiver.url}/gone is not tried again: the answer HTTP 404 is final.`
      await page.goto(`${web.node.url}/deliveries/${encodeURIComponent(`event/${both.id}/half`)}`)
      await page.getByText(`${gone} What is left will be tried again until`).waitFor()
      await page.getByText(', 20 h after its first attempt').waitFor()
      // What is no longer there is not said to have been tried for too long.
      await web.node.api('PATCH', `/destinations/${id}`, { settings: { webhooks: [{ url: urls[0] }] } })
      await web.node.api('POST', `/deliveries/${encodeURIComponent(`event/${both.id}/half`)}/retry`)
      await page.getByText(`${urls[1]} is not tried again: it was removed from its destination.`).waitFor()
      await web.node.connect([other], [`${receiver.url}/taken`])
      receiver.answer(({ path }) => ({ status: path === '/taken' ? 200 : 404 }))
      await web.node.post('/track', other.writeKey, { userId: 'ada', event: 'Partly', messageId: 'partly' })
      await page.goto(`${web.node.url}/deliveries/${encodeURIComponent(`event/${other.id}/partly`)}`)
      await page
        .getByText(`${gone} Only answers of 408, 425, 429 and 5xx are retried. What another destination took`)
        .waitFor()
      // What is the same at several destinations is told once.
      const twice = await web.node.createSource('Two of one URL')
      for (let n = 0; n < 2; n++) await web.node.connect([twice], [`${receiver.url}/gone`])
      await web.node.post('/track', twice.writeKey, { userId: 'ada', event: 'Twice', messageId: 'twice' })
      await page.goto(`${web.node.url}/deliveries/${encodeURIComponent(`event/${twice.id}/twice`)}`)
      const told = page.getByText(`${gone} Only answers`)
      await eventually(async () => (await told.textContent())?.split(gone).length).toBe(2)
      expect(errors).toEqual([])
    })

    it('opens a row at once while a filter is being typed', async () => {
      await using receiver = await startReceiver()
      const source = await web.node.createSource('Typed shop')
      await web.node.connect([source], [receiver.url])
      await web.node.post('/track', source.writeKey, { userId: 'ada', event: 'Typed', messageId: 'typed' })
      await eventually(() => statuses(source.id)).toEqual(['delivered'])
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.clock.install()
      await page.goto(`${web.node.url}/deliveries?sourceId=${source.id}`)
      await page.getByRole('link', { name: 'Typed' }).waitFor()
      // The page of a delivery is loaded when it is opened first: later here than the list follows what is typed.
      await page.route(/delivery-page/, async (route) => {
        await sleep(2_000)
        await route.continue()
      })
      // The pause in typing that the list waits for ends after the click, however slow the machine is; a hand presses for a moment.
      await page.clock.pauseAt(Date.now() + 60_000)
      await page.getByLabel('Event name, exact').fill('Typed')
      await page.getByRole('link', { name: 'Typed' }).click({ delay: 500 })
      await page.clock.resume()
      await page.getByRole('heading', { name: 'Attempts' }).waitFor()
      expect(new URL(page.url()).pathname).toMatch(/^\/deliveries\/event/)
      expect(errors).toEqual([])
    })

    it('delivers a selection again, after a count', async () => {
      await using receiver = await startReceiver()
      const source = await web.node.createSource('Blog')
      await web.node.connect([source], [receiver.url])
      for (const event of ['One', 'Two', 'Three'])
        await web.node.post('/track', source.writeKey, { userId: 'u1', event })
      await receiver.received(3)
      await eventually(() => statuses(source.id)).toEqual(['delivered', 'delivered', 'delivered'])

      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/deliveries?sourceId=${source.id}`)
      await page.getByRole('checkbox', { name: /^Choose One/ }).click()
      await page.getByRole('checkbox', { name: /^Choose Three/ }).click()
      await page.getByText('2 selected:').waitFor()
      await page.getByRole('button', { name: 'Redeliver …' }).click()
      await page.getByText('2 deliveries').waitFor()
      await page.getByLabel('Why').fill('the receiver lost them')
      let letGo = (): void => undefined
      const held = new Promise<void>((resolve) => (letGo = resolve))
      await page.route(/\/redeliver$/, async (route) => {
        await held
        await route.continue()
      })
      await page.getByRole('button', { name: 'Redeliver 2' }).click()
      // It stays open while it works: nothing else could stop it.
      await page.getByRole('button', { name: 'Stop' }).waitFor()
      expect(await page.getByRole('button', { name: 'Close' }).count()).toBe(0)
      await page.keyboard.press('Escape')
      letGo()
      await page.getByText('Done: 2 of 2').waitFor()
      const requests = await receiver.received(5)
      const again = requests.slice(3).map(({ body }) => (JSON.parse(body.toString()) as { event: string }).event)
      expect(again.sort()).toEqual(['One', 'Three'])

      // What was redelivered before is counted, and left out unless it is wanted.
      await page.goto(`${web.node.url}/deliveries?sourceId=${source.id}`)
      await until('the list has both redeliveries', async () => (await statuses(source.id)).length === 5)
      await page.getByText('Shown: 5 of 5').waitFor()
      await page
        .getByRole('checkbox', { name: /^Choose One/ })
        .last()
        .click()
      await page.getByRole('checkbox', { name: /^Choose Two/ }).click()
      await page.getByRole('button', { name: 'Redeliver …' }).click()
      await page.getByText('2 deliveries').waitFor()
      await page.getByRole('checkbox', { name: 'Leave out the 1 that was redelivered before' }).click()
      await page.getByRole('button', { name: 'Redeliver 2' }).waitFor()
      await page.getByRole('checkbox', { name: 'Leave out the 1 that was redelivered before' }).click()
      await page.getByRole('button', { name: 'Redeliver 1 of 2' }).click()
      await page.getByText('Done: 1 of 2; 1 could not be changed').waitFor()
      await page.getByText('1: it was delivered again before').waitFor()
      const [, , , , , sixth] = await receiver.received(6)
      expect(JSON.parse(sixth?.body.toString() ?? '')).toMatchObject({ event: 'Two' })

      const repeated = await until('the redelivery is listed', async () => {
        const { body } = await web.node.api<{ items: Delivery[] }>('GET', `/deliveries?sourceId=${source.id}`)
        return body.items.find(({ id, event }) => id.endsWith('/redelivery/1') && event === 'One')
      })
      await page.goto(`${web.node.url}/deliveries/${encodeURIComponent(repeated.id)}`)
      await page.getByText('the receiver lost them').waitFor()
      await page.getByRole('button', { name: 'Redeliver …' }).click()
      await page.getByLabel('Why').fill('once more')
      await page.getByRole('button', { name: 'Redeliver', exact: true }).click()
      await page.getByText(/by admin: once more$/).waitFor()
      expect(decodeURIComponent(page.url())).toMatch(/\/redelivery\/2$/)
      await receiver.received(7)
    })

    it('counts what it can retry of a selection, and says in one sentence what holds one', async () => {
      await using receiver = await startReceiver()
      receiver.answer({ status: 503 })
      const source = await web.node.createSource('Half held')
      const paused = await web.node.connect([source], [`${receiver.url}/paused`])
      await web.node.post('/track', source.writeKey, { userId: 'u1', event: 'Waits' })
      await eventually(() => statuses(source.id)).toEqual(['retrying'])
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/deliveries?sourceId=${source.id}`)
      await page.getByRole('link', { name: 'Waits' }).click()
      await page.getByRole('button', { name: 'Retry now …' }).click()
      await page.getByLabel('Why').fill('too late')
      await web.node.api('PATCH', `/destinations/${paused.id}`, { paused: true })
      await page.getByRole('button', { name: 'Retry now', exact: true }).click()
      await page
        .getByText(`Held by the paused destination "${paused.name}" (${paused.id}): resume it to send what waits.`, {
          exact: true,
        })
        .waitFor()
      expect(receiver.requests.length).toBe(1)

      await web.node.connect([source], [`${receiver.url}/failing`])
      await web.node.post('/track', source.writeKey, { userId: 'u1', event: 'Waits elsewhere, too' })
      await eventually(() => receiver.requests.length).toBe(2)
      await eventually(() => statuses(source.id)).toEqual(['held', 'held'])
      await page.goto(`${web.node.url}/deliveries?sourceId=${source.id}`)
      await page.getByText('Shown: 2 of 2').waitFor()
      for (const box of await page.getByRole('checkbox', { name: /^Choose Waits/ }).all()) await box.click()
      await page.getByRole('button', { name: 'Retry now …' }).click()
      await page.getByText('Not possible for 1: paused destinations hold them').waitFor()
      await page.getByRole('button', { name: 'Retry now 1 of 2' }).click()
      await page.getByText('Done: 1 of 2; 1 could not be changed').waitFor()
      await eventually(() => receiver.requests.map(({ path }) => path)).toEqual(['/paused', '/failing', '/failing'])
    })

    it('name an endpoint that was removed by the URL that it had', async () => {
      await using receiver = await startReceiver()
      receiver.answer({ status: 503 })
      const source = await web.node.createSource('Removed endpoint')
      const urls = [`${receiver.url}/kept`, `${receiver.url}/removed`]
      const { id, settings } = await web.node.connect([source], urls, { successPolicy: 'all' })
      await web.node.post('/track', source.writeKey, { userId: 'u1', event: 'Moved out', messageId: 'moved' })
      await eventually(() => receiver.requests.length).toBe(2)
      const delivery = `/deliveries/${encodeURIComponent(`event/${source.id}/moved`)}`
      receiver.answer({})
      const webhooks = settings.webhooks.slice(0, 1).map((kept) => ({ id: kept.id, url: kept.url }))
      expect((await web.node.api('PATCH', `/destinations/${id}`, { settings: { webhooks } })).status).toBe(200)
      await eventually(() => statuses(source.id)).toEqual(['retrying'])
      expect((await web.node.api('POST', `${delivery}/retry`)).status).toBe(200)
      await eventually(() => statuses(source.id)).toEqual(['failed'])

      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}${delivery}`)
      await page.getByText(`${receiver.url}/removed: the endpoint was removed from its destination.`).waitFor()
      expect(await page.getByText(/ep_[0-9a-f]+/i).count()).toBe(0)
    })

    it('stops on the way through all that match', async () => {
      const source = await web.node.createSource('Stopped')
      const { id } = await web.node.connect([source], ['http://127.0.0.1:9/nobody-listens'])
      await web.node.api('PATCH', `/destinations/${id}`, { paused: true })
      const batch = Array.from({ length: many }, () => ({ type: 'track', userId: 'u1', event: 'Held' }))
      await web.node.post('/batch', source.writeKey, { batch })
      const countOf = async (status: string): Promise<number> => {
        const { body } = await web.node.api<{ count: number }>(
          'GET',
          `/deliveries/count?sourceId=${source.id}&status=${status}`,
        )
        return body.count
      }
      await eventually(() => countOf('held')).toBe(many)

      const { page } = await web.open({ signedInTo: web.node.url })
      const { body } = await web.node.api<{ items: Delivery[] }>('GET', `/deliveries?sourceId=${source.id}&limit=1`)
      await page.goto(`${web.node.url}/deliveries/${encodeURIComponent(body.items[0]?.id ?? '')}`)
      await page.getByText('Its destination is paused: it is sent when that is resumed.').waitFor()
      expect(await page.getByRole('button', { name: 'Retry now …' }).isDisabled()).toBe(true)

      await page.goto(`${web.node.url}/deliveries?sourceId=${source.id}&status=held`)
      // Read on at the end of the page, as far as there is more.
      const rows = page.getByRole('row', { name: /Held/ })
      await eventually(async () => {
        await rows.last().scrollIntoViewIfNeeded()
        return rows.count()
      }).toBe(many)
      await page.getByRole('button', { name: 'Retry now …' }).click()
      await page.getByText(`Not possible for ${many}: paused destinations hold them`).waitFor()
      expect(await page.getByRole('button', { name: `Retry now 0 of ${many}` }).isDisabled()).toBe(true)
      await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click()
      await page.getByRole('button', { name: 'Cancel …' }).click()
      await page.getByRole('button', { name: `Cancel ${many}` }).click()
      await page.getByRole('button', { name: 'Stop' }).click()
      const told = (await page.getByText(/^Stopped: \d+ of/).textContent()) ?? ''
      const done = Number(/\d+/.exec(told)?.[0])
      expect(done).toBeLessThan(many)
      await eventually(() => countOf('cancelled')).toBe(done)
      expect(await countOf('held')).toBe(many - done)
    })

    it('says how much more waits in the inbox, and cancels it with all that match', async () => {
      await using hanging = await startReceiver()
      hanging.answer(() => 'hang')
      const source = await web.node.createSource('Backed up')
      await web.node.connect([source], [hanging.url])
      const track = (messageId: string) => ({ type: 'track', userId: 'u1', event: 'Backed up', messageId })
      const countOf = async (query = ''): Promise<number> => {
        const { body } = await web.node.api<{ count: number }>('GET', `/deliveries/count?sourceId=${source.id}${query}`)
        return body.count
      }
      const firsts = Array.from({ length: 8 }, (_, n) => `first-${n}`)
      await Promise.all(firsts.map((id) => web.node.post('/track', source.writeKey, track(id))))
      await eventually(() => countOf('&status=retrying')).toBe(firsts.length)
      const late = Array.from({ length: 60 }, (_, n) => `late-${n}`)
      await web.node.post('/batch', source.writeKey, { batch: late.map(track) })
      await eventually(() => countOf()).toBe(firsts.length + late.length)

      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/deliveries?sourceId=${source.id}&status=retrying`)
      await page.getByRole('link', { name: /^\d+ more waits? in the inbox$/ }).click()
      await page
        .getByRole('row', { name: /Queued/ })
        .first()
        .waitFor()
      expect(new URL(page.url()).searchParams.get('status')).toBe('queued')
      await page.getByRole('button', { name: 'Retry now …' }).click()
      await page.getByText(/^Not possible for \d+: they wait in the inbox and are sent in their turn\.$/).waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click()

      await page.goto(`${web.node.url}/deliveries?sourceId=${source.id}`)
      await page.getByRole('button', { name: 'Cancel …' }).click()
      await page.getByRole('button', { name: /^Cancel \d+$/ }).click()
      const told = (await page.getByText(/^Done: \d+ of \d+$/).textContent()) ?? ''
      const all = firsts.length + late.length
      expect(told).toMatch(/^Done: (\d+) of \1$/)
      await eventually(() => countOf('&status=cancelled')).toBe(all)
      expect(await countOf('&status=queued')).toBe(0)
      await page.getByRole('button', { name: 'Close' }).last().click()
      await page.getByText(`Shown: 50 of ${all}`).waitFor()

      const never = late.filter((id) => !messageIdsOf(hanging).includes(id))
      expect(never.length).toBeGreaterThan(0)
      hanging.answer({})
      await web.node.post('/track', source.writeKey, track('afterwards'))
      await eventually(() => countOf('&status=delivered')).toBe(1)
      expect(messageIdsOf(hanging)).toContain('afterwards')
      expect(never.filter((id) => messageIdsOf(hanging).includes(id))).toEqual([])
      expect(errors).toEqual([])
    })

    it('keeps filters in the address bar', async () => {
      const source = await web.node.createSource('Filtered')
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/deliveries`)
      await page.getByLabel('User id').fill('nobody')
      await page.getByText('No delivery matches these filters').waitFor()
      for (const [name, option] of [
        ['Source', 'Filtered'],
        ['Status', 'Failed'],
        ['Type', 'identify'],
      ] as const) {
        await page.getByRole('combobox', { name }).click()
        await page.getByRole('option', { name: option, exact: true }).click()
      }
      await page.getByLabel('Message id').fill('m-1')
      const wanted = { status: 'failed', sourceId: source.id, type: 'identify', userId: 'nobody', messageId: 'm-1' }
      await eventually(() => Object.fromEntries(new URL(page.url()).searchParams)).toEqual(wanted)
      await page.reload()
      await page.getByText('No delivery matches these filters').waitFor()
      expect(await page.getByLabel('User id').inputValue()).toBe('nobody')
      await page.getByRole('button', { name: 'Clear filters' }).first().click()
      await eventually(() => page.url()).toBe(`${web.node.url}/deliveries`)
    })
  })
