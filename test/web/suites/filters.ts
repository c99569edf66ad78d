import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import type { Destination } from '../../../src/schemas/destination.ts'
import { startReceiver } from '../../support/receiver.ts'
import { eventually, seriousFindings, type WebTest } from '../browser.ts'

/** The page has the answer: nothing is left to be discarded. */
const untilSaved = (page: Page): Promise<void> =>
  page.getByRole('button', { name: 'Discard changes to the filter' }).waitFor({ state: 'hidden' })

export const filters = (web: WebTest) =>
  describe('the filter of a destination', () => {
    it('is filled in as a form by the keyboard, corrected where it is wrong, and leaves events out', async () => {
      await using receiver = await startReceiver()
      const source = await web.node.createSource('Choosy')
      const { id } = await web.node.connect([source], [receiver.url], { name: 'Orders' })
      const stored = async () => (await web.node.api<Destination>('GET', `/destinations/${id}`)).body.filter
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/destinations/${id}`)
      await page.getByText('It takes all events of its sources.').waitFor()
      await page.getByRole('checkbox', { name: 'track', exact: true }).press('Space')
      await page.getByRole('combobox', { name: 'Names of events' }).pressSequentially('Order *')
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Add a rule' }).press('Enter')
      await page.getByRole('button', { name: 'Add a rule' }).press('Enter')
      const [first, second] = [page.getByRole('group', { name: 'Rule 1' }), page.getByRole('group', { name: 'Rule 2' })]
      await first.getByLabel('Path').fill('properties.total')
      await first.getByLabel('Operator').selectOption('is greater than')
      await first.getByLabel('Value').fill('true')
      await second.getByLabel('Whether rule 2 must hold').selectOption('Must not')
      await second.getByLabel('Operator').selectOption('is one of')
      await second.getByRole('combobox', { name: 'Values of rule 2' }).fill('test')
      await page.keyboard.press('Enter')

      const save = page.getByRole('button', { name: 'Save the filter' })
      await save.press('Enter')
      await second.getByText('Must not be empty').waitFor()
      await second.getByLabel('Path').fill('properties.mode')
      await save.press('Enter')
      await first.getByText('Must be a number, or a text such as a time').waitFor()
      expect(await stored()).toBeNull()
      expect(await seriousFindings(page)).toEqual([])
      await first.getByLabel('Value').fill('100')
      await save.press('Enter')
      await eventually(stored).toEqual({
        types: ['track'],
        events: ['Order *'],
        match: {
          all: [
            { path: 'properties.total', op: 'greater', value: 100 },
            { not: { path: 'properties.mode', op: 'oneOf', value: ['test'] } },
          ],
        },
      })
      // Then the node knows it, too.
      await untilSaved(page)

      const send = (messageId: string, total: number) =>
        web.node.post('/track', source.writeKey, {
          userId: 'u1',
          event: 'Order Paid',
          messageId,
          properties: { total },
        })
      await send('order-small', 5)
      await send('order-large', 500)
      const [request] = await receiver.received(1)
      expect(JSON.parse(request?.body.toString() ?? '')).toMatchObject({ messageId: 'order-large' })
      const turnedAway = async () =>
        (await web.node.api<{ items: unknown[] }>('GET', '/turned-away?messageId=order-small')).body.items.length
      await eventually(turnedAway).toBe(1)
      await page.reload()

      // A draft is tried as it is typed, on what was delivered and what was left out.
      const tried = page.getByRole('region', { name: 'Tried on the newest events' })
      await tried.getByText('Of the newest 2 events of its sources it takes 1 and leaves out 1.').waitFor()
      await first.getByLabel('Value').fill('1')
      await tried.getByText('Of the newest 2 events of its sources it takes 2 and leaves out 0.').waitFor()
      await first.getByLabel('Value').fill('1000')
      await tried
        .getByRole('row', { name: /Order Paid.*Left out.*properties.total greater 1000/ })
        .first()
        .waitFor()
      await tried.getByRole('button', { name: 'Show the body of order-small' }).press('Enter')
      await page.getByRole('dialog').getByText('"order-small"').waitFor()
      await page.keyboard.press('Escape')
      expect(await stored()).toMatchObject({ match: { all: [{ value: 100 }, {}] } })
      await first.getByLabel('Value').fill('100')
      await page.goto(`${web.node.url}/turned-away?messageId=order-small`)
      await page.getByText('Filters left it out: Orders (properties.total greater 100).').waitFor()
      // The two refusals (400) are logged by the browser; nothing else is.
      expect(errors.filter((error) => !error.includes('400'))).toEqual([])
    })

    it('is written as JSON where a form cannot show it, and seen by viewers', async () => {
      const { id } = await web.node.connect([], [], { filter: { sample: 0.25 } })
      const stored = async () => (await web.node.api<Destination>('GET', `/destinations/${id}`)).body.filter
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/destinations/${id}`)
      await eventually(() => page.getByLabel('Share of the users').inputValue()).toBe('25 %')
      const ways = page.getByRole('radiogroup', { name: 'Edit the filter as' })
      const way = (name: string) => ways.getByRole('radio', { name, exact: true })
      await way('JSON').press('Space')
      const text = page.getByLabel('Filter as JSON')
      await eventually(() => text.inputValue()).toContain('"sample": 0.25')
      const nested = { match: { any: [{ path: 'userId', op: 'exists' }, { all: [{ path: 'type', op: 'like' }] }] } }
      await text.fill('{ "match": ')
      const save = page.getByRole('button', { name: 'Save the filter' })
      await save.click()
      await page.getByText('This is not JSON').waitFor()
      await text.fill(JSON.stringify(nested))
      await save.click()
      await page.getByRole('alert').getByText('filter.match.any[1].all[0].op').waitFor()
      const right = JSON.stringify(nested).replace('"like"', '"equals","value":"page"')
      await text.fill(right)
      await save.click()
      await eventually(stored).toEqual(JSON.parse(right))
      await untilSaved(page)
      await way('Form').press('Space')
      await page.getByText('A form cannot show these rules').waitFor()
      expect(await seriousFindings(page)).toEqual([])

      const { body: viewer } = await web.node.api<{ token: string }>('POST', '/tokens', {
        name: 'Sees filters',
        role: 'viewer',
      })
      const other = await web.open({ signedInTo: web.node.url, token: viewer.token })
      await other.page.goto(`${web.node.url}/destinations/${id}`)
      await other.page.getByRole('region', { name: 'filter' }).getByText('"any"').waitFor()
    })
  })
