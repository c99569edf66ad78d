import { describe, expect, it } from 'vitest'
import type { Destination } from '../../../src/schemas/destination.ts'
import { startReceiver } from '../../support/receiver.ts'
import { eventually, seriousFindings, type WebTest } from '../browser.ts'

export const endpointOptions = (web: WebTest) =>
  describe('the options of an endpoint and of its destination', () => {
    it('are tried as they are typed, saved, and shown with what was sent', async () => {
      await using receiver = await startReceiver()
      const source = await web.node.createSource('With options')
      const { id } = await web.node.connect([source], [`${receiver.url}/hook`])
      const sent = () => receiver.requests.filter(({ path }) => path === '/hook')
      const stored = async () => (await web.node.api<Destination>('GET', `/destinations/${id}`)).body.settings.webhooks
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/destinations/${id}`)
      await page.getByRole('button', { name: 'Options of endpoint 1' }).press('Enter')
      // The last field can be clicked once the panel is open as a whole.
      await page.getByLabel('At a time').click()
      await page.getByRole('combobox', { name: 'Method' }).click()
      await page.getByRole('option', { name: 'PUT' }).click()
      await eventually(() => page.getByRole('combobox', { name: 'Method' }).inputValue()).toBe('PUT')
      await page.getByRole('combobox', { name: 'Content' }).click()
      await page.getByRole('option', { name: 'Form' }).click()
      await page.getByLabel('Time limit').fill('20')
      await page.getByRole('combobox', { name: 'More statuses that are a success' }).fill('404')
      await page.keyboard.press('Enter')
      await page.getByLabel('Requests a second').fill('50')
      await page.getByLabel('At a time').fill('2')
      const options = page.getByRole('region', { name: 'Options of endpoint 1' })
      await options.getByLabel('Retry window').fill('48')
      await options.getByLabel('First pause').fill('60')
      await options.getByLabel('Longest pause').fill('3600')
      await options.getByText('gets about 69 attempts in 2 d: the first pause is 1 min, the longest 1 h').waitFor()
      await page.getByRole('button', { name: 'Test endpoint 1' }).click()
      await page.getByText('The endpoint accepted the event').waitFor()
      await eventually(async () => sent().map(({ method }) => method)).toEqual(['PUT'])
      expect(await seriousFindings(page)).toEqual([])
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await eventually(stored).toMatchObject([
        {
          ...{ method: 'PUT', contentType: 'form', timeoutSeconds: 20, successStatuses: [404] },
          ...{ maxPerSecond: 50, maxConcurrent: 2 },
          ...{ retryWindowHours: 48, retryPauses: { firstSeconds: 60, maxSeconds: 3_600 } },
        },
      ])

      await web.node.post('/track', source.writeKey, { userId: 'u1', event: 'Ordered', messageId: 'with-options' })
      await eventually(async () => sent().length).toBe(2)
      await page.goto(`${web.node.url}/deliveries/${encodeURIComponent(`event/${source.id}/with-options`)}`)
      await page.getByText('event = Ordered').waitFor()
      await page.getByRole('tab', { name: 'Headers' }).click()
      await page.getByText('PUT /hook').waitFor()
      await page.getByRole('tab', { name: 'curl' }).click()
      await page.getByText('-X PUT').waitFor()

      // What differs from the usual is open at once.
      await page.goto(`${web.node.url}/destinations/${id}`)
      await page.getByRole('combobox', { name: 'Method' }).click()
      await page.getByRole('option', { name: 'POST' }).click()
      await page.getByLabel('Requests a second').fill('')
      await options.getByLabel('First pause').fill('')
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await options.getByText('Enter both pauses, or leave both empty').waitFor()
      await options.getByLabel('Longest pause').fill('')
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await eventually(async () => (await stored())[0]?.method).toBeUndefined()
      const [left] = await stored()
      expect(left).toMatchObject({ timeoutSeconds: 20, maxConcurrent: 2 })
      expect(left).toMatchObject({ retryWindowHours: 48 })
      for (const member of ['maxPerSecond', 'retryPauses']) expect(left).not.toHaveProperty(member)
      expect(errors).toEqual([])
    })

    it('say at their own field what the server refuses', async () => {
      const source = await web.node.createSource('Out of bounds')
      const { id } = await web.node.connect([source], ['http://127.0.0.1:9/none'])
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/destinations/${id}`)
      const wait = page.getByRole('textbox', { name: "Keep the order of each user's events" })
      await wait.fill('100000')
      await wait.press('Enter')
      const form = page.locator('form').filter({ has: wait })
      await form.getByText(/^Must be .*86400/).waitFor()
      expect(await wait.getAttribute('aria-invalid')).toBe('true')
      await wait.fill('')
      await page.getByRole('button', { name: 'Add a header' }).click()
      const header = page.getByRole('textbox', { name: 'Name of header 1' })
      await header.fill(' Content-Length ')
      await page.getByRole('textbox', { name: 'Value of header 1' }).fill('1')
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await eventually(() => header.getAttribute('aria-invalid')).toBe('true')
      expect(await page.getByRole('textbox', { name: 'URL' }).getAttribute('aria-invalid')).not.toBe('true')
    })

    it('leave a user in order, and say where that was not to be', async () => {
      await using receiver = await startReceiver()
      const source = await web.node.createSource('In order')
      const { id } = await web.node.connect([source], [receiver.url])
      await web.node.api('PATCH', `/destinations/${id}`, { orderPerUser: { maxWaitSeconds: 1 } })
      receiver.answer(({ body }) => (body.toString().includes('in-order-0') ? { status: 503 } : {}))
      for (const messageId of ['in-order-0', 'in-order-1'])
        await web.node.post('/track', source.writeKey, { userId: 'u1', event: 'Ordered', messageId })
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/deliveries?sourceId=${source.id}`)
      await page.getByRole('cell', { name: 'Delivered' }).waitFor()
      await page.goto(`${web.node.url}/deliveries/${encodeURIComponent(`event/${source.id}/in-order-1`)}`)
      await page.getByText('Sent before its turn: earlier events of the same user took longer').waitFor()
      receiver.answer({})
      expect(errors).toEqual([])
    })
  })
