import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import type { Destination } from '../../../src/schemas/destination.ts'
import { startReceiver } from '../../support/receiver.ts'
import { errorsBesideDeletionOf, eventually, type WebTest } from '../browser.ts'

export const connecting = (web: WebTest) =>
  describe('connecting Webhooks from the catalog', () => {
    /** Types a destination into the wizard, up to the step of its secret. */
    const typeDestination = async (
      page: Page,
      name: string,
      sources: { name: string }[],
      url: string,
    ): Promise<void> => {
      await page.goto(`${web.node.url}/catalog/webhooks`)
      await page.getByLabel('Name of the destination').fill(name)
      for (const source of sources) await page.getByRole('checkbox', { name: source.name }).check()
      await page.getByRole('button', { name: 'Next' }).click()
      await page.getByRole('group', { name: 'Endpoint 1' }).getByLabel('URL').fill(url)
      await page.getByRole('button', { name: 'Next' }).click()
    }

    it('leads from the search to an event that arrives, signed', async () => {
      await using receiver = await startReceiver()
      await using broken = await startReceiver()
      broken.answer({ status: 500, body: 'out of order' })
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(web.node.url)
      await page.getByText('Three steps to your first event').waitFor()

      await page.goto(`${web.node.url}/catalog`)
      await page.getByLabel('Search the catalog').fill('webhook')
      const card = page.getByRole('article').filter({ hasText: 'Webhooks' })
      await card.getByText('Cloud mode').waitFor()
      await card.getByText('All source types').waitFor()
      await card.getByRole('link', { name: 'Connect Webhooks' }).click()

      await page.getByLabel('New source').fill('Shop')
      await page.getByRole('button', { name: 'Create source' }).click()
      await page.getByRole('checkbox', { name: 'Shop', checked: true }).waitFor()
      await page.getByRole('button', { name: 'Next' }).click()

      const first = page.getByRole('group', { name: 'Endpoint 1' })
      await first.getByLabel('URL').fill(`${receiver.url}/hook`)
      await first.getByRole('button', { name: 'Add a header' }).click()
      await first.getByLabel('Name of header 1').fill('X-Team')
      await first.getByLabel('Value of header 1').fill('growth')
      await page.getByRole('combobox', { name: 'Type of the sample event for endpoint 1' }).click()
      await page.getByRole('option', { name: 'identify' }).click()
      await page.getByRole('button', { name: 'Test endpoint 1' }).click()
      await first.getByText('The endpoint accepted the event').waitFor()
      const [typed] = await receiver.received(1)
      expect(typed?.headers['x-team']).toBe('growth')
      expect(JSON.parse(typed?.body.toString() ?? '')).toMatchObject({ type: 'identify' })

      await page.getByRole('button', { name: 'Add an endpoint' }).click()
      const second = page.getByRole('group', { name: 'Endpoint 2' })
      await second.getByLabel('URL').fill('ftp://example.com/')
      await page.getByRole('button', { name: 'Test endpoint 2' }).click()
      await second.getByText('Must be a full http or https URL').waitFor()
      await page.getByRole('button', { name: 'Next' }).click()
      await second.getByText('Must be a full http or https URL').waitFor()
      await second.getByLabel('URL').fill('http://10.0.0.1/not-allowed')
      await page.getByRole('button', { name: 'Next' }).click()

      await page.getByRole('button', { name: 'Generate' }).click()
      const secret = await page.getByLabel('Shared secret').inputValue()
      expect(secret.length).toBeGreaterThanOrEqual(32)
      await page.getByRole('button', { name: 'Save and test' }).click()

      // The server refuses the second URL: the form goes back to it and says why.
      await second.getByText(/10\.0\.0\.1/).waitFor()
      await second.getByLabel('URL').fill(`${broken.url}/hook`)
      await page.getByRole('button', { name: 'Next' }).click()
      await page.getByRole('button', { name: 'Save and test' }).click()

      await page.getByRole('button', { name: 'Send a test event' }).click()
      await page.getByText('The endpoint accepted the event').waitFor()
      await page.getByText('The endpoint did not accept the event').waitFor()
      await page.getByText('HTTP 500').waitFor()
      const [, test] = await receiver.received(2)
      expect(test?.headers['x-team']).toBe('growth')

      await page.getByRole('button', { name: 'Switch on', exact: true }).click()
      await page.getByText('Webhooks is on').waitFor()

      const { body } = await web.node.api<{ items: Destination[] }>('GET', '/destinations')
      expect(body.items[0]).toMatchObject({ enabled: true, settings: { hasSharedSecret: true } })
      await page.getByRole('link', { name: 'Send an event' }).click()
      const writeKey = await page.getByRole('textbox', { name: 'Write key' }).inputValue()
      await page.getByText('Live', { exact: true }).waitFor()
      await web.node.post('/track', writeKey, { userId: 'u1', event: 'Order Completed' })

      const [, , arrived] = await receiver.received(3)
      const signature = createHmac('sha1', secret)
        .update(arrived?.body ?? '')
        .digest('hex')
      expect(arrived?.headers['x-signature']).toBe(signature)
      expect(JSON.parse(arrived?.body.toString() ?? '')).toMatchObject({ type: 'track', event: 'Order Completed' })

      // The live stream shows it, and leads to its delivery.
      await page.getByText('track · Order Completed').waitFor()
      await page.getByRole('link', { name: 'Delivery', exact: true }).click()
      await page.getByRole('heading', { name: 'Order Completed', level: 1 }).waitFor()
      await page.getByText('Delivered', { exact: true }).first().waitFor()
      // The two refusals (400) are logged by the browser; nothing else is.
      expect(errors.filter((error) => !error.includes('400'))).toEqual([])
    })
    it('checks each step, and keeps what was typed over a reload, without a second destination', async () => {
      await using receiver = await startReceiver()
      const { page } = await web.open({ signedInTo: web.node.url })
      const destinations = async (): Promise<Destination[]> =>
        (await web.node.api<{ items: Destination[] }>('GET', '/destinations')).body.items
      const known = (await destinations()).length
      await page.goto(`${web.node.url}/catalog/webhooks`)
      const next = page.getByRole('button', { name: 'Next' })
      const name = page.getByLabel('Name of the destination')
      // A name that is free stands there once it is known which are taken.
      const free = known === 0 ? 'Webhooks' : 'Webhooks 2'
      await eventually(() => name.inputValue()).toBe(free)
      await name.fill('Reloaded')
      await next.click()
      await page.getByText('Choose at least one source, or create one').waitFor()
      await page.getByLabel('New source').fill('By Enter')
      await page.keyboard.press('Enter')
      await page.getByRole('checkbox', { name: 'By Enter', checked: true }).waitFor()
      await page.getByLabel('New source').fill('Not created')
      await page.reload()
      await next.click()
      await page.getByText('Create this source, or empty the field').waitFor()
      expect(await page.getByLabel('New source').inputValue()).toBe('Not created')
      const taken = page.getByText('Another source has this name: choose another one.')
      await page.getByLabel('New source').fill('By Enter')
      await page.keyboard.press('Enter')
      await taken.waitFor()
      expect(await page.getByText('This did not work').count()).toBe(0)
      await page.getByLabel('New source').fill('')
      await next.click()
      const url = page.getByRole('group', { name: 'Endpoint 1' }).getByLabel('URL')
      for (const wrong of ['not a url', 'http://two words.example']) {
        await url.fill(wrong)
        await next.click()
        await page.getByText('Must be a full http or https URL').waitFor()
      }
      await url.fill('https://user:secret@example.com')
      await next.click()
      await page.getByText(/^Must not carry a user name or password/).waitFor()
      await url.fill(`https://example.com/${'a'.repeat(2_048)}`)
      await next.click()
      await page.getByText('Must have at most 2,048 characters').waitFor()
      await url.fill(receiver.url)
      await page.reload()
      await eventually(() => url.inputValue()).toBe(receiver.url)
      await next.click()
      // A secret is kept nowhere: a receiver that was told of it would find nothing signed.
      await page.getByRole('button', { name: 'Generate' }).click()
      await page.reload()
      await page.getByText(/^The secret that you had entered was not kept/).waitFor()
      await page.getByRole('button', { name: 'Save and test' }).click()
      await page.getByRole('button', { name: 'Send a test event' }).waitFor()
      await page.reload()
      await page.getByRole('button', { name: 'Send a test event' }).click()
      await receiver.received(1)
      receiver.answer({ status: 404 })
      await page.getByRole('button', { name: 'Send a test event' }).click()
      await page.getByText('A real event would not be tried again.').waitFor()
      await page.getByRole('button', { name: 'Back' }).click()
      await page.getByRole('button', { name: 'Save and test' }).click()
      await page.getByRole('button', { name: 'Switch on', exact: true }).click()
      await page.getByText('Reloaded is on').waitFor()
      const added = async () => (await destinations()).slice(known).map(({ name, enabled }) => [name, enabled])
      await eventually(added).toEqual([['Reloaded', true]])

      await page.goto(`${web.node.url}/catalog/webhooks`)
      await page.getByRole('checkbox', { name: 'By Enter' }).check()
      await next.click()
      await url.fill(receiver.url)
      await next.click()
      await page.getByRole('button', { name: 'Save and test' }).click()
      await page.getByRole('button', { name: 'Send a test event' }).waitFor()
      await eventually(async () => (await added()).length).toBe(2)
      // What was saved is deleted also by who is faster than the list of destinations.
      const list = /\/api\/v1\/destinations(\?|$)/
      await page.route(list, async (route) => {
        await sleep(1_000)
        await route.continue()
      })
      await page.reload()
      await page.getByRole('button', { name: 'Start over' }).click()
      await page.unroute(list)
      await page.getByRole('button', { name: 'Delete it and start over' }).click()
      // Nothing is left of what was begun: its name is free again.
      await eventually(() => name.inputValue()).toBe(free)
      expect(await added()).toEqual([['Reloaded', true]])
      await page.goto(`${web.node.url}/catalog/webhooks`)
      await eventually(() => name.inputValue()).toBe(free)
      await name.fill('Reloaded')
      await next.click()
      await page.getByText('Another destination has this name').waitFor()
    })

    it('keeps a secret that is not saved while another page is looked at', async () => {
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/catalog/webhooks`)
      await page.getByLabel('Name of the destination').fill('Looked around')
      await page.getByLabel('No source: this destination only gets audiences').check()
      await page.getByRole('button', { name: 'Next' }).click()
      await page.getByRole('group', { name: 'Endpoint 1' }).getByLabel('URL').fill('https://looked.example')
      await page.getByRole('button', { name: 'Next' }).click()
      const secret = page.getByLabel('Shared secret')
      await page.getByRole('button', { name: 'Generate' }).click()
      const generated = await secret.inputValue()
      expect(generated).not.toBe('')
      const lookAround = async (): Promise<void> => {
        await page.getByRole('link', { name: 'Sources', exact: true }).click()
        await page.getByRole('heading', { name: 'Sources', level: 1 }).waitFor()
        await page.goBack()
        await page.getByRole('heading', { name: 'Connect Webhooks', level: 1 }).waitFor()
      }
      await lookAround()
      expect(await secret.inputValue()).toBe(generated)
      expect(await page.getByText(/^The secret that you had entered was not kept/).count()).toBe(0)
      await page.getByRole('button', { name: 'Save and test' }).click()
      await page.getByRole('button', { name: 'Send a test event' }).waitFor()

      // One that is saved is nowhere but on the server.
      await lookAround()
      await page.getByRole('button', { name: 'Back' }).click()
      expect(await secret.inputValue()).toBe('')
      await page.getByRole('button', { name: 'Start over' }).click()
      await page.getByRole('button', { name: 'Delete it and start over' }).click()
      await page.getByRole('heading', { name: 'Which sources should it get events from?' }).waitFor()
    })
    it('changes no name under the hands of who types it', async () => {
      const source = await web.node.createSource('Slow list')
      await web.node.connect([source], ['http://127.0.0.1:9/hook'], { name: 'Webhooks' })
      const { page } = await web.open({ signedInTo: web.node.url })
      const list = /\/api\/v1\/destinations(\?|$)/
      let answer = (): void => undefined
      const mayBeAnswered = new Promise<void>((resolve) => (answer = resolve))
      await page.route(list, async (route) => {
        await mayBeAnswered
        await route.continue()
      })
      await page.goto(`${web.node.url}/catalog/webhooks`)
      const name = page.getByLabel('Name of the destination')
      await name.selectText()
      const listed = page.waitForResponse(list)
      answer()
      await (await listed).finished()
      await sleep(500)
      await page.keyboard.insertText('Mine')
      expect(await name.inputValue()).toBe('Mine')
    })

    it('changes no name under the hands of who begins to type in the moment in which it would change', async () => {
      const source = await web.node.createSource('Beside the list')
      await web.node.connect([source], ['http://127.0.0.1:9/hook'], { name: 'Webhooks' })
      const { page } = await web.open({ signedInTo: web.node.url })
      // Right after the page has looked at what is focused, the name is.
      await page.addInitScript(() => {
        const own = Object.getOwnPropertyDescriptor(Document.prototype, 'activeElement')
        Object.defineProperty(Document.prototype, 'activeElement', {
          configurable: true,
          get(this: Document): Element | null {
            const focused = own?.get?.call(this) as Element | null
            if (new Error().stack?.includes('connect-page') === true)
              queueMicrotask(() => document.querySelector<HTMLInputElement>('input[required]')?.select())
            return focused
          },
        })
      })
      await page.goto(`${web.node.url}/catalog/webhooks`)
      const name = page.getByLabel('Name of the destination')
      await page.waitForFunction(() => document.activeElement?.matches('input[required]'))
      await page.keyboard.insertText('Mine')
      expect(await name.inputValue()).toBe('Mine')
    })

    it('saves a destination anew that was deleted elsewhere, and says that nothing of it is there any more', async () => {
      await using receiver = await startReceiver()
      const source = await web.node.createSource('Kept without its destination')
      const { page } = await web.open({ signedInTo: web.node.url })
      const name = `Deleted elsewhere ${source.id}`
      const stored = async (): Promise<Destination | undefined> =>
        (await web.node.api<{ items: Destination[] }>('GET', '/destinations')).body.items.find(
          (destination) => destination.name === name,
        )
      const remove = async () => web.node.api('DELETE', `/destinations/${(await stored())?.id ?? ''}`)
      const saveAndTest = page.getByRole('button', { name: 'Save and test' })
      const deleted = page.getByText('This destination was deleted elsewhere')
      await typeDestination(page, name, [source], receiver.url)
      await page.getByRole('button', { name: 'Generate' }).click()
      await saveAndTest.click()
      await page.getByRole('button', { name: 'Send a test event' }).waitFor()
      await remove()
      await page.getByRole('button', { name: 'Switch on', exact: true }).click()
      await deleted.waitFor()
      await saveAndTest.click()
      await page.getByRole('button', { name: 'Send a test event' }).click()
      expect((await receiver.received(1))[0]?.headers['x-signature']).toBeTypeOf('string')

      // After a reload nobody knows the secret: what is saved now would be unsigned, and so does not say that one is set.
      await remove()
      await page.reload()
      await deleted.waitFor()
      await page.getByText(/^The secret that you had entered was not kept/).waitFor()
      expect(await page.getByText('One is set.').count()).toBe(0)
      await page.getByRole('button', { name: 'Generate' }).click()
      await saveAndTest.click()
      await page.getByRole('button', { name: 'Switch on', exact: true }).click()
      await page.getByText(`${name} is on`).waitFor()
      expect(await stored()).toMatchObject({ enabled: true, settings: { hasSharedSecret: true } })
    })

    it('goes on with what it saved, though the answer to that was lost', async () => {
      const source = await web.node.createSource('Answer lost')
      await using receiver = await startReceiver()
      const { page } = await web.open({ signedInTo: web.node.url })
      await typeDestination(page, 'Answer lost once', [source], receiver.url)
      await page.getByRole('button', { name: 'Generate' }).click()
      let lost = 0
      await page.route(/\/api\/v1\/destinations/, async (route) => {
        if (route.request().method() === 'GET' || lost === 2) return route.fallback()
        lost++
        await route.fetch()
        return route.abort()
      })
      const saveAndTest = page.getByRole('button', { name: 'Save and test' })
      await saveAndTest.click()
      await page.getByText('it may or may not be done').waitFor()
      await page.getByText('One is set.').waitFor()
      await page.reload()
      await page.getByText('One is set.').waitFor()
      await page.getByRole('button', { name: 'Back' }).click()
      await page.getByRole('button', { name: 'Back' }).click()
      await page.getByLabel('Name of the destination').fill('Answer lost twice')
      await page.getByRole('button', { name: 'Next' }).click()
      await page.getByRole('button', { name: 'Next' }).click()
      // The answer to this is lost, too.
      await saveAndTest.click()
      await page.getByText('it may or may not be done').waitFor()
      await saveAndTest.click()
      await page.getByRole('button', { name: 'Send a test event' }).click()
      expect((await receiver.received(1))[0]?.headers['x-signature']).toBeTypeOf('string')
      const { items } = (await web.node.api<{ items: Destination[] }>('GET', '/destinations?limit=200')).body
      expect(items.filter(({ sourceIds }) => sourceIds.includes(source.id)).map(({ name }) => name)).toEqual([
        'Answer lost twice',
      ])
    })

    it('knows that it was switched on elsewhere, as in a copy of its tab', async () => {
      const source = await web.node.createSource('Switched on elsewhere')
      const { page } = await web.open({ signedInTo: web.node.url })
      await typeDestination(page, 'Switched on elsewhere', [source], 'http://127.0.0.1:9/hook')
      await page.getByRole('button', { name: 'Save and test' }).click()
      await page.getByText('The destination is saved but switched off').waitFor()
      // Open, it might find out by itself, and have no draft any more.
      await page.goto('about:blank')
      const { items } = (await web.node.api<{ items: Destination[] }>('GET', '/destinations?limit=200')).body
      const id = items.find(({ name }) => name === 'Switched on elsewhere')?.id ?? ''
      await web.node.api('PATCH', `/destinations/${id}`, { enabled: true })
      await page.goto(`${web.node.url}/catalog/webhooks`)
      await page.getByText('Switched on elsewhere is on').waitFor()
      // It is done: the next one begins anew.
      await page.reload()
      await page.getByLabel('Name of the destination').waitFor()
      expect(await page.getByRole('button', { name: 'Start over' }).count()).toBe(0)
    })

    it('says which events are sent from now on, as its filter and pause are that were set elsewhere before it was on', async () => {
      await using receiver = await startReceiver()
      const { page } = await web.open({ signedInTo: web.node.url })
      for (const [name, patch, sentence, expected] of [
        ['Open', {}, 'From now on, every event of its sources is sent to its endpoints.', ['Other', 'Order Paid']],
        [
          'Filtered',
          { filter: { events: ['Order *'] } },
          'From now on, every event of its sources that fits its filter is sent to its endpoints.',
          ['Order Paid'],
        ],
        [
          'Paused',
          { paused: true },
          'It is paused: every event of its sources waits from now on, and is sent once it is resumed.',
          [],
        ],
      ] as const) {
        const source = await web.node.createSource(`Sent ${name}`)
        await typeDestination(page, `Sent ${name}`, [source], `${receiver.url}/${name}`)
        await page.getByRole('button', { name: 'Save and test' }).click()
        await page.getByRole('button', { name: 'Send a test event' }).waitFor()
        const { items } = (await web.node.api<{ items: Destination[] }>('GET', '/destinations?limit=200')).body
        const id = items.find(({ sourceIds }) => sourceIds.includes(source.id))?.id ?? ''
        await web.node.api('PATCH', `/destinations/${id}`, patch)
        await page.getByRole('button', { name: 'Switch on', exact: true }).click()
        await page.getByText(sentence, { exact: true }).waitFor()
        for (const event of ['Other', 'Order Paid'])
          await web.node.post('/track?wait=2s', source.writeKey, { userId: 'ada', event })
        const sent = receiver.requests.filter(({ path }) => path === `/${name}`)
        expect(sent.map(({ body }) => (JSON.parse(body.toString()) as { event: string }).event)).toEqual(expected)
      }
    })

    it('names what was chosen and deleted elsewhere, until it is left out', async () => {
      const kept = await web.node.createSource('Kept source')
      const gone = await web.node.createSource('Gone source')
      const { id } = await web.node.connect([kept, gone], ['http://127.0.0.1:9/hook'])
      const { page } = await web.open({ signedInTo: web.node.url })
      const { page: other } = await web.open({ signedInTo: web.node.url })
      const { page: deletions } = await web.open({ signedInTo: web.node.url })
      const { page: audiences } = await web.open({ signedInTo: web.node.url })
      await typeDestination(page, 'Without its source', [kept, gone], 'http://127.0.0.1:9/hook')
      await other.goto(`${web.node.url}/destinations/${id}`)
      await other.getByRole('textbox', { name: 'Name', exact: true }).fill('Lost a source')
      await deletions.goto(`${web.node.url}/deletion-requests`)
      await deletions.getByRole('button', { name: 'Request a deletion' }).first().click()
      await deletions.getByLabel('User ids').fill('nobody')
      await deletions.getByRole('combobox', { name: 'Sources' }).press('ArrowDown')
      await deletions.getByRole('option', { name: gone.name }).click()
      await deletions.keyboard.press('Tab')
      const unused = await web.node.connect([], ['http://127.0.0.1:9/hook'], { name: 'Gone destination' })
      await audiences.goto(`${web.node.url}/audiences`)
      await audiences.getByRole('button', { name: 'Create an audience' }).first().click()
      await audiences.getByRole('textbox', { name: 'Name' }).fill('Without its destination')
      await audiences.getByRole('combobox', { name: 'Destinations' }).press('ArrowDown')
      await audiences.getByRole('option', { name: unused.name }).click()
      await audiences.keyboard.press('Tab')
      await web.node.api('DELETE', `/sources/${gone.id}`)
      await web.node.api('DELETE', `/destinations/${unused.id}`)

      await page.getByRole('button', { name: 'Save and test' }).click()
      await page.getByText(`No source has the id ${gone.id}.`).waitFor()
      await page.getByRole('checkbox', { name: 'Gone source (deleted)', checked: true }).click()
      await page.getByRole('button', { name: 'Next' }).click()
      await page.getByRole('button', { name: 'Next' }).click()
      await page.getByRole('button', { name: 'Save and test' }).click()
      await page.getByRole('button', { name: 'Send a test event' }).waitFor()

      await other.getByRole('button', { name: 'Save', exact: true }).click()
      await other.getByRole('button', { name: 'Overwrite it with mine' }).click()
      await other.getByText(`No source has the id ${gone.id}.`).waitFor()
      await other.getByRole('checkbox', { name: 'Gone source (deleted)', checked: true }).click()
      await other.getByRole('button', { name: 'Save', exact: true }).click()
      await other.getByRole('button', { name: 'Overwrite it with mine' }).click()
      await other.getByRole('heading', { name: 'Lost a source', level: 1 }).waitFor()

      await deletions.getByRole('button', { name: 'Delete 1 user' }).click()
      await deletions.getByText(`No source has the id ${gone.id}.`, { exact: true }).waitFor()
      await audiences.getByRole('button', { name: 'Create', exact: true }).click()
      await audiences.getByText(`No destination has the id ${unused.id}.`, { exact: true }).waitFor()
    })

    it('takes nothing while it is switched on: what was typed meanwhile would be lost', async () => {
      const source = await web.node.createSource('Switched on slowly')
      const { page } = await web.open({ signedInTo: web.node.url })
      await typeDestination(page, 'Switched on slowly', [source], 'http://127.0.0.1:9/hook')
      await page.getByRole('button', { name: 'Save and test' }).click()
      let answer = (): void => undefined
      const mayBeAnswered = new Promise<void>((resolve) => (answer = resolve))
      await page.route(/\/api\/v1\/destinations\/dst_/, async (route) => {
        if (route.request().method() === 'PATCH') await mayBeAnswered
        await route.continue()
      })
      await page.getByRole('button', { name: 'Switch on', exact: true }).click()
      expect(await page.getByRole('button', { name: 'Back' }).isDisabled()).toBe(true)
      answer()
      await page.getByText('Switched on slowly is on').waitFor()
    })

    it('asks before it switches a destination off for which something waits, and pauses it instead', async () => {
      const source = await web.node.createSource('Asked')
      const { id } = await web.node.connect([source], ['http://127.0.0.1:9/nobody-listens'])
      for (const userId of ['ada', 'grace']) await web.node.post('/track', source.writeKey, { userId, event: 'Kept' })
      const retrying = `/deliveries/count?destinationId=${id}&status=retrying`
      await eventually(async () => (await web.node.api('GET', retrying)).body).toEqual({ count: 2 })
      const stored = async () => (await web.node.api<Destination>('GET', `/destinations/${id}`)).body
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/destinations/${id}`)
      const retry = page.getByRole('button', { name: /^Retry the \d/ })
      await retry.waitFor()
      await page.getByRole('switch', { name: 'On', exact: true }).press('Space')
      const question = page.getByRole('dialog', { name: 'Switch Test destination off?' })
      await question.getByText('2 deliveries wait for it.').waitFor()
      expect((await stored()).enabled).toBe(true)
      await question.getByRole('button', { name: 'Pause instead' }).click()
      await page.getByText('Paused: deliveries wait, none is lost').waitFor()
      expect(await retry.count()).toBe(0)
      expect(await stored()).toMatchObject({ paused: true, enabled: true })
      const held = `/deliveries/count?destinationId=${id}&status=held`
      await eventually(async () => (await web.node.api('GET', held)).body).toEqual({ count: 2 })

      // The page has read what became of it: until then the switch takes no key.
      await question.waitFor({ state: 'hidden' })
      await page.getByRole('switch', { name: 'On', exact: true, disabled: false }).press('Space')
      await question.getByText('2 deliveries wait for it.').waitFor()
      // What comes while it asks is discarded, too.
      await web.node.post('/track', source.writeKey, { userId: 'alan', event: 'Late' })
      await question.getByText('3 deliveries wait for it.').waitFor()
      await question.getByRole('button', { name: 'Switch off and discard 3' }).click()
      await page.getByRole('switch', { name: 'Off', exact: true }).waitFor()
      const discarded = `/deliveries/count?destinationId=${id}&status=discarded`
      await eventually(async () => (await web.node.api('GET', discarded)).body).toEqual({ count: 3 })
    })

    it('asks no longer whether to switch a destination off that is off: switched off elsewhere, or by an order whose answer was lost', async () => {
      const source = await web.node.createSource('Asked in vain')
      const { page } = await web.open({ signedInTo: web.node.url })
      const ask = async () => {
        const { id } = await web.node.connect([source], ['http://127.0.0.1:9/nobody-listens'])
        await web.node.post('/track', source.writeKey, { userId: 'ada', event: 'Waits' })
        const retrying = `/deliveries/count?destinationId=${id}&status=retrying`
        await eventually(async () => (await web.node.api('GET', retrying)).body).toEqual({ count: 1 })
        await page.goto(`${web.node.url}/destinations/${id}`)
        await page.getByRole('switch', { name: 'On', exact: true }).press('Space')
        await question.getByText('1 delivery waits for it.').waitFor()
        return id
      }
      const question = page.getByRole('dialog', { name: 'Switch Test destination off?' })
      const elsewhere = await ask()
      await web.node.api('PATCH', `/destinations/${elsewhere}`, { enabled: false })
      await question.waitFor({ state: 'detached' })
      await page.getByRole('switch', { name: 'Off', exact: true }).waitFor()

      await ask()
      await page.route(/\/api\/v1\/destinations\/dst_/, async (route) => {
        if (route.request().method() !== 'PATCH') return route.continue()
        await route.fetch()
        await route.abort()
      })
      await question.getByRole('button', { name: 'Switch off and discard 1' }).click()
      await page.getByText('it may or may not be done').waitFor()
      await question.waitFor({ state: 'detached' })
      await page.getByRole('switch', { name: 'Off', exact: true }).waitFor()
    })

    it('pauses a destination, which holds what comes, and resumes it', async () => {
      await using receiver = await startReceiver()
      const source = await web.node.createSource('Paused')
      const { id } = await web.node.connect([source], [receiver.url])
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/destinations/${id}`)
      await page.getByRole('button', { name: 'Pause' }).click()
      await page.getByText('0 deliveries wait for it.').waitFor()
      await web.node.post('/track', source.writeKey, { userId: 'u1', event: 'Held' })
      const held = `/deliveries/count?destinationId=${id}&status=held`
      await eventually(async () => (await web.node.api('GET', held)).body).toEqual({ count: 1 })
      await page.reload()
      await page.getByRole('link', { name: '1 delivery waits for it.' }).waitFor()
      expect(receiver.requests).toEqual([])
      await page.getByRole('button', { name: 'Resume' }).click()
      await receiver.received(1)
      await page.getByRole('button', { name: 'Pause' }).waitFor()
      expect(errors).toEqual([])
    })

    it('holds a destination while it fails, as is chosen there, and shows since when', async () => {
      await using receiver = await startReceiver()
      receiver.answer({ status: 503 })
      const source = await web.node.createSource('Held while failing')
      const { id } = await web.node.connect([source], [receiver.url], { name: 'Failing' })
      const stored = async () => (await web.node.api<Destination>('GET', `/destinations/${id}`)).body
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/destinations/${id}`)
      await page.getByRole('radio', { name: 'They are held until an endpoint answers' }).check()
      const holdAfter = page.getByLabel('Hold after so many minutes of failure')
      for (const [typed, told] of [
        ['1441', 'At most 1,440 minutes.'],
        ['0', 'More than 0 minutes.'],
      ] as const) {
        await holdAfter.fill(typed)
        await holdAfter.press('Enter')
        await page.getByText(told, { exact: true }).waitFor()
      }
      await holdAfter.fill('0.05')
      await page.getByRole('textbox', { name: 'Retry window' }).fill('48')
      await page.getByRole('textbox', { name: "Keep the order of each user's events" }).fill('90')
      await page.getByRole('textbox', { name: 'First pause' }).fill('60')
      await page.getByRole('textbox', { name: 'Longest pause' }).fill('3600')
      await page.getByText('An event that fails all the time gets about 69 attempts in 2 d').waitFor()
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await eventually(stored).toMatchObject({ onFailing: 'hold', holdAfterSeconds: 3, retryWindowHours: 48 })
      await eventually(stored).toMatchObject({ retryPauses: { firstSeconds: 60, maxSeconds: 3_600 } })
      expect((await stored()).orderPerUser).toEqual({ maxWaitSeconds: 90 })

      await web.node.post('/track', source.writeKey, { userId: 'u1', event: 'Held' })
      await page.getByText('Held: deliveries wait, none is lost').waitFor()
      await page.getByText('Every endpoint fails, since').waitFor()
      await page.getByRole('link', { name: '1 delivery waits for it.' }).waitFor()
      await page.goto(`${web.node.url}/destinations`)
      await page.getByRole('row', { name: 'Failing' }).getByText('Held', { exact: true }).waitFor()

      await page.goto(`${web.node.url}/destinations/${id}`)
      await page.getByRole('button', { name: 'Keep paused' }).click()
      await page.getByText('Paused: deliveries wait, none is lost').waitFor()
      expect(await stored()).toMatchObject({ paused: true, held: null })
      receiver.answer({})
      await page.getByRole('button', { name: 'Resume' }).click()
      await page.getByRole('button', { name: 'Pause' }).waitFor()
      await eventually(stored).toMatchObject({ paused: false, held: null })
      await page.goto(`${web.node.url}/settings?tab=audit`)
      await page.getByText('Held destination while it fails').first().waitFor()
      expect(errors).toEqual([])
    })

    it('takes other endpoints, tests them, is switched off and deleted', async () => {
      await using first = await startReceiver()
      await using second = await startReceiver()
      const { id } = await web.node.connect([await web.node.createSource('Moved')], [first.url])
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/destinations/${id}`)
      const stored = async () => (await web.node.api<Destination>('GET', `/destinations/${id}`)).body
      const save = page.getByRole('button', { name: 'Save', exact: true })
      await page.getByRole('button', { name: 'Add an endpoint' }).click()
      const added = page.getByRole('group', { name: 'Endpoint 2' })
      await added.getByLabel('URL').fill(second.url)
      await added.getByRole('button', { name: 'Add a header' }).click()
      await added.getByRole('button', { name: 'Remove header 1' }).click()
      await page.getByRole('radio', { name: 'When every endpoint has accepted it' }).check()
      await save.click()
      await eventually(async () => (await stored()).successPolicy).toBe('all')

      await page.getByRole('combobox', { name: 'Type of the sample event', exact: true }).click()
      await page.getByRole('option', { name: 'page' }).click()
      await page.getByRole('button', { name: 'Send a test event' }).click()
      for (const receiver of [first, second]) {
        const [request] = await receiver.received(1)
        expect(JSON.parse(request?.body.toString() ?? '')).toMatchObject({ type: 'page' })
      }
      await page.getByRole('button', { name: 'Remove endpoint 1' }).click()
      await save.click()
      await eventually(async () => (await stored()).settings.webhooks.map(({ url }) => url)).toEqual([second.url])

      await page.getByRole('switch', { name: 'On' }).press('Space')
      await eventually(async () => (await stored()).enabled).toBe(false)
      await page.getByRole('button', { name: 'Delete destination' }).click()
      await page.getByRole('dialog').getByText('0 deliveries wait for it.').waitFor()
      await page.getByRole('button', { name: 'Delete the destination' }).click()
      await page.getByRole('heading', { name: 'Destinations', level: 1 }).waitFor()
      expect((await web.node.api('GET', `/destinations/${id}`)).status).toBe(404)
      expect(errorsBesideDeletionOf(`/destinations/${id}`, errors)).toEqual([])
    })

    it('is not told to hold deliveries when it is off, where they are discarded', async () => {
      await using receiver = await startReceiver()
      const source = await web.node.createSource('Paused, then off')
      const { id } = await web.node.connect([source], [receiver.url], { name: 'Paused, then off' })
      await web.node.api('PATCH', `/destinations/${id}`, { paused: true })
      await web.node.post('/track', source.writeKey, { userId: 'u1', event: 'Held' })
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/destinations/${id}`)
      const notice = page.getByText('Paused: deliveries wait, none is lost')
      await notice.waitFor()
      await page.getByRole('link', { name: '1 delivery waits for it.' }).waitFor()
      await page.getByRole('button', { name: 'Delete destination' }).click()
      await page.getByRole('dialog').getByText('1 delivery waits for it.').waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('switch', { name: 'On' }).press('Space')
      await page.getByRole('button', { name: 'Switch off and discard 1' }).click()
      await page.getByRole('switch', { name: 'Off' }).waitFor()
      await notice.waitFor({ state: 'detached' })
      const statuses = async () =>
        (
          await web.node.api<{ items: { status: string }[] }>('GET', `/deliveries?sourceId=${source.id}`)
        ).body.items.map(({ status }) => status)
      await eventually(statuses).toEqual(['discarded'])
      expect(receiver.requests).toEqual([])
    })

    it('rotates a secret, while the old one goes on signing for as long as was chosen', async () => {
      await using receiver = await startReceiver()
      const source = await web.node.createSource('Signed')
      const { id } = await web.node.connect([source], [receiver.url], { sharedSecret: 'the old secret' })
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/destinations/${id}`)
      const signatures = async (overlap: string, count: number, signer: string): Promise<number> => {
        await page.getByLabel('New shared secret').fill(`secret ${count}`)
        await page.getByRole('combobox', { name: 'Keep signing with the old secret for' }).click()
        await page.getByRole('option', { name: overlap }).click()
        await page.getByRole('button', { name: 'Save', exact: true }).click()
        await eventually(() => page.getByLabel('New shared secret').inputValue()).toBe('')
        await web.node.post('/track', source.writeKey, { userId: 'u1', event: 'Signed' })
        const sent = (await receiver.received(count)).at(-1)
        const signature = createHmac('sha1', signer)
          .update(sent?.body ?? '')
          .digest('hex')
        expect(sent?.headers['x-signature']).toBe(signature)
        return String(sent?.headers['webhook-signature']).split(' ').length
      }
      expect(await signatures('One week', 1, 'the old secret')).toBe(2)
      expect(await signatures('No time: it stops at once', 2, 'secret 2')).toBe(1)
    })
  })
