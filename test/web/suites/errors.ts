import type { Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { DeliveryDetail } from '../../../src/schemas/delivery.ts'
import type { Source } from '../../../src/schemas/source.ts'
import { adminToken } from '../../support/app.ts'
import { startReceiver } from '../../support/receiver.ts'
import { startTcpRelay } from '../../support/tcp-relay.ts'
import { until } from '../../support/wait.ts'
import type { WebTest } from '../browser.ts'

/** Open streams of live events that a node has at most. */
const maxStreams = 50

/** Wrong tokens after which an address has to wait. */
const wrongTries = 10

/** Each kind of error where an operator meets it: what is shown says how to mend it, and what was typed stays. */
export const errors = (web: WebTest) =>
  describe('an error', () => {
    const createForm = async (page: Page, url: string, name: string): Promise<void> => {
      await page.goto(`${url}/sources`)
      await page.getByRole('button', { name: 'Create a source' }).first().click()
      await page.getByRole('dialog').getByLabel('Name').fill(name)
    }
    const create = (page: Page) => page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click()
    const named = async (name: string): Promise<number> => {
      const { body } = await web.node.api<{ items: Source[] }>('GET', '/sources?limit=200')
      return body.items.filter((source) => source.name === name).length
    }

    it('409: a delivery that ended meanwhile says what can be done with it', async () => {
      await using receiver = await startReceiver()
      receiver.answer({ status: 503 })
      const source = await web.node.createSource('Late')
      await web.node.connect([source], [receiver.url])
      await web.node.post('/track', source.writeKey, { userId: 'ada', event: 'Late', messageId: 'late' })
      const path = `/deliveries/${encodeURIComponent(`event/${source.id}/late`)}`
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(web.node.url + path)
      await page.getByRole('button', { name: 'Retry now …' }).click()
      const dialog = page.getByRole('dialog', { name: 'Retry now' })
      await dialog.waitFor()
      await web.node.api('POST', `${path}/cancel`)
      await until('it is cancelled', async () => {
        const { body } = await web.node.api<DeliveryDetail>('GET', path)
        return body.status === 'cancelled'
      })
      await dialog.getByRole('button', { name: 'Retry now' }).click()
      await page
        .getByRole('alert')
        .getByText('The delivery is over: redeliver it to send it again.', { exact: true })
        .waitFor()
    })

    it('404: the page of what is not there leads to the list, and does not go on asking', async () => {
      const { page } = await web.open({ signedInTo: web.node.url })
      for (const list of ['destinations', 'audiences', 'deliveries']) {
        const asked: string[] = []
        const note = (request: { url: () => string }) => void asked.push(new URL(request.url()).pathname)
        page.on('request', note)
        await page.goto(`${web.node.url}/${list}/gone`)
        const text = page.getByText('Check the address for a typing mistake, or look for it in the list.')
        // What operators set up is kept until they delete it.
        const isSetUp = list !== 'deliveries'
        expect(await text.textContent()).toMatch(
          isSetUp
            ? /^No \w+ has the id gone: it may have been deleted\. Check/
            : 'No delivery has the id gone: it may have been deleted, or it is older than what is kept. Check',
        )
        // The app asks how the server is less often than these pages would ask again.
        for (let times = 0; times < 2; times++) await page.waitForResponse((answer) => answer.url().endsWith('/status'))
        expect(asked.filter((path) => path === `/api/v1/${list}/gone`)).toHaveLength(1)
        page.off('request', note)
        await page.getByRole('link', { name: `Look in the list of ${list}` }).click()
        await page.getByRole('heading', { name: new RegExp(list, 'i'), level: 1 }).waitFor()
      }
    })

    it('429: after many wrong tokens, how long to wait, and that the right one is taken', async () => {
      const { page } = await web.open()
      await page.goto(`${web.node.url}/login`)
      for (let tries = 0; tries < wrongTries; tries++) {
        const headers = { 'content-type': 'application/json' }
        const body = JSON.stringify({ token: `wrong ${tries}` })
        await fetch(`${web.node.url}/api/v1/session`, { method: 'POST', headers, body })
      }
      const enter = async (token: string): Promise<void> => {
        await page.getByLabel('Token').fill(token)
        await page.getByRole('button', { name: 'Sign in' }).click()
      }
      await enter('wrong again')
      await page
        .getByRole('alert', { name: 'Not signed in' })
        .getByText(/^Too many wrong tokens .*: only the right one is taken now; try again in \d+ s\.$/)
        .waitFor()
      await enter(adminToken)
      await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    })

    it('429: live events say which limit is reached, and come when there is room', async () => {
      const source = await web.node.createSource('Watched')
      const end = new AbortController()
      onTestFinished(() => end.abort())
      const headers = { authorization: `Bearer ${adminToken}` }
      const url = `${web.node.url}/api/v1/sources/${source.id}/live`
      const open = (): Promise<Response> => fetch(url, { headers, signal: end.signal })
      const opened = await Promise.all(Array.from({ length: maxStreams + 1 }, open))
      // A stream that nobody refers to any more is closed by the garbage collector.
      onTestFinished(async () => {
        for (const { body } of opened) await body?.cancel().catch(() => undefined)
      })
      expect(opened.map(({ status }) => status)).toContain(429)
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/sources/${source.id}`)
      const notice = page.getByRole('alert', { name: 'No live events now' })
      await notice
        .getByText(/^As many pages show live events as a node serves: close one of them; try again in/)
        .waitFor()
      await page.getByText('Connecting: what comes in meanwhile is not shown here.').waitFor()
      end.abort()
      await page.getByRole('status').getByText('Live', { exact: true }).waitFor()
      await page.getByText('Waiting for events. Send one with a snippet below.').waitFor()
      await notice.waitFor({ state: 'detached' })
    })

    it('503: what needs Temporal is refused with the time of the next try, and works when it is back', async () => {
      onTestFinished(() => web.wayToTemporal.open())
      await using receiver = await startReceiver()
      receiver.answer({ status: 503 })
      const source = await web.node.createSource('Away')
      await web.node.connect([source], [receiver.url])
      await web.node.post('/track', source.writeKey, { userId: 'ada', event: 'Waits', messageId: 'waits' })
      await receiver.received(1)
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/deliveries/${encodeURIComponent(`event/${source.id}/waits`)}`)
      await page.getByRole('button', { name: 'Retry now …' }).click()
      const dialog = page.getByRole('dialog', { name: 'Retry now' })
      await dialog.waitFor()
      web.wayToTemporal.freeze()
      await dialog.getByRole('button', { name: 'Retry now' }).click()
      await dialog.getByText(/^Temporal is away: .*; try again in \d+ s\.$/).waitFor()
      web.wayToTemporal.open()
      await page.getByRole('status', { name: 'Temporal does not answer' }).waitFor({ state: 'detached' })
      receiver.answer({ status: 200 })
      await dialog.getByRole('button', { name: 'Retry now' }).click()
      await page.getByText('Delivered', { exact: true }).first().waitFor()
    })

    it('without a network: what is not known is said so, and what was typed is sent when it is back', async () => {
      await using way = await startTcpRelay(Number(new URL(web.node.url).port))
      const url = `http://127.0.0.1:${way.port}`
      const { page } = await web.open({ signedInTo: url })
      await createForm(page, url, 'Through a gap')
      way.shut()
      await create(page)
      const dialog = page.getByRole('dialog')
      await dialog
        .getByText(
          'Postrider did not answer, so it may or may not be done: check that it is running and that you are connected, ' +
            'look whether it is done, and try again if it is not.',
          { exact: true },
        )
        .waitFor()
      expect(await dialog.getByLabel('Name').inputValue()).toBe('Through a gap')
      expect(await named('Through a gap')).toBe(0)
      way.open()
      await page.getByRole('status', { name: 'Postrider does not answer' }).waitFor({ state: 'detached' })
      await create(page)
      await page.getByRole('heading', { name: 'Through a gap', level: 1 }).waitFor()
      expect(await named('Through a gap')).toBe(1)
    })

    it('without a network at sign-in: the page says so, and takes the token when it is back', async () => {
      await using way = await startTcpRelay(Number(new URL(web.node.url).port))
      const { page } = await web.open()
      await page.goto(`http://127.0.0.1:${way.port}/login`)
      way.shut()
      await page.getByLabel('Token').fill(adminToken)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page
        .getByRole('alert')
        .getByText('Postrider does not answer: check that it is running and that you are connected, then try again.')
        .waitFor()
      way.open()
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    })
  })
