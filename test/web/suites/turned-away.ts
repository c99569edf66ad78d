import { describe, expect, it } from 'vitest'
import { startReceiver } from '../../support/receiver.ts'
import { eventually, type WebTest } from '../browser.ts'

export const turnedAway = (web: WebTest) =>
  describe('events that became no delivery', () => {
    it('are found by message id, by the numbers of the overview and in the live stream, with body and reason', async () => {
      await using receiver = await startReceiver()
      const source = await web.node.createSource('Picky')
      await web.node.connect([source], [receiver.url])
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/sources/${source.id}`)
      await page.getByText('Live', { exact: true }).waitFor()
      const send = (messageId: string, more: object) =>
        web.node.post('/track', source.writeKey, { userId: 'ada', messageId, properties: { total: 5 }, ...more })
      const { body: refusal } = await send('picky-refused', {})
      await send('picky-filtered', { event: 'Filtered', integrations: { All: false } })
      await send('picky-taken', { event: 'Taken' })
      const [got] = await receiver.received(1)

      await page.getByRole('row', { name: /Rejected.*A track call did not name its event\./ }).waitFor()
      const dialog = page.getByRole('dialog')
      const body = dialog.getByRole('region', { name: 'body' })
      await page.getByRole('button', { name: 'Show the body of picky-refused' }).click()
      await dialog.getByText(String(refusal['message'])).waitFor()
      expect(JSON.parse((await body.textContent()) ?? '')).toMatchObject({ properties: { total: 5 } })
      await page.keyboard.press('Escape')
      await page.getByRole('button', { name: 'Show the body of picky-taken' }).click()
      await body.waitFor()
      expect(JSON.parse((await body.textContent()) ?? '')).toEqual(JSON.parse(got?.body.toString() ?? ''))

      await page.goto(`${web.node.url}/deliveries?messageId=picky-filtered&status=failed`)
      await page
        .getByText('The event arrived but was not delivered to anyone. Its “integrations” member excludes')
        .waitFor()
      await page.getByRole('link', { name: 'Look at it' }).click()
      await page.getByRole('row', { name: /Filtered.*“integrations” member excludes.*ada.*Picky/ }).waitFor()
      // Whatever else is filtered by: one of this message id came in.
      const other = await web.node.createSource('Not so picky')
      for (const narrower of [`sourceId=${other.id}`, 'userId=alan', `since=${new Date().toISOString()}`]) {
        await page.goto(`${web.node.url}/deliveries?messageId=picky-refused&${narrower}`)
        await page.getByText('The event arrived but was not delivered to anyone.').waitFor()
        await page.getByRole('link', { name: 'Look at it' }).click()
        await page.getByRole('row', { name: /picky-refused.*Rejected|Rejected.*picky-refused/ }).waitFor()
      }
      await page.goto(`${web.node.url}/deliveries?messageId=picky-taken&status=failed`)
      await page.getByText('One delivery of this message id is there, but the other filters hide it.').waitFor()
      await page.getByRole('button', { name: 'Show it' }).click()
      await page.getByRole('row', { name: /Taken.*Delivered/ }).waitFor()
      await page.goto(`${web.node.url}/deliveries?messageId=never-sent`)
      await page.getByText('Nor is one with this message id among the events that were turned away').waitFor()

      await page.goto(`${web.node.url}/?sourceId=${source.id}`)
      await page.getByRole('link', { name: 'A track call did not name its event.' }).waitFor()
      await page.getByRole('link', { name: 'Rejected', exact: true }).click()
      await page.getByRole('heading', { name: 'Turned away', level: 1 }).waitFor()
      await eventually(() => page.getByRole('row').count()).toBe(2)
      await page.getByRole('button', { name: 'Show the body of picky-refused' }).click()
      await dialog.getByText(String(refusal['message'])).waitFor()
      expect(receiver.requests).toHaveLength(1)
      expect(errors).toEqual([])
    })

    it('are only counted where their request could not be read, and the number leads to a page that says so', async () => {
      const source = await web.node.createSource('Unreadable')
      const { page } = await web.open({ signedInTo: web.node.url })
      const answer = await fetch(`${web.node.url}/v1/track`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${source.writeKey}:`)}` },
        body: '{"event":',
      })
      expect(answer.status).toBe(400)
      await page.goto(web.node.url)
      await page.getByRole('link', { name: 'The request could not be read.' }).click()
      await page.getByRole('heading', { name: 'Turned away', level: 1 }).waitFor()
      await page.getByText(/Requests that could not be read or had no valid write key are only counted\.$/).waitFor()
    })

    it('are found by a message id that was too long, where deliveries are looked for and in the palette', async () => {
      const source = await web.node.createSource('Long-winded')
      const messageId = 'long-'.repeat(60)
      await web.node.post('/track', source.writeKey, { userId: 'ada', event: 'Seen', messageId })
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/turned-away?messageId=${messageId}`)
      await page.getByRole('row', { name: /Rejected.*messageId must have at most 100 characters\./ }).waitFor()
      await page.goto(`${web.node.url}/deliveries?messageId=${messageId}`)
      await page.getByText('The event arrived but was not delivered to anyone. messageId must have at most').waitFor()
      await page.keyboard.press('Control+k')
      await page.getByRole('textbox', { name: 'Go to' }).fill(messageId)
      await page.getByText('No delivery of this message').waitFor()
      await page.getByText('An event that was turned away').waitFor()
      expect(errors).toEqual([])
    })

    it('are narrowed down by what is typed without a break in it, and say by what a link narrowed them', async () => {
      const source = await web.node.createSource('Narrowed')
      for (const messageId of ['narrowed-1', 'narrowed-2'])
        await web.node.post('/track', source.writeKey, { userId: 'ada', messageId })
      await web.node.post('/identify', source.writeKey, { messageId: 'narrowed-3' })
      const { page } = await web.open({ signedInTo: web.node.url })
      const rows = () => page.getByRole('row').filter({ hasText: 'narrowed-' }).count()
      // What was turned away is written down a moment later; the page reads it again by itself.
      await page.goto(`${web.node.url}/turned-away?sourceId=${source.id}`)
      await eventually(rows).toBe(3)
      const id = page.getByRole('textbox', { name: 'Message id, exact' })
      await id.focus()
      await page.keyboard.type('narrowed')
      await page.getByText('No event matches', { exact: true }).waitFor()
      await page.keyboard.type('-2')
      await eventually(rows).toBe(1)
      expect(await id.inputValue()).toBe('narrowed-2')

      await page.goto(`${web.node.url}/?sourceId=${source.id}`)
      await page.getByRole('link', { name: 'A track call did not name its event.' }).click()
      const reason = page.getByRole('combobox', { name: 'Reason' })
      await reason.waitFor()
      expect(await reason.inputValue()).toBe('A track call did not name its event.')
      await eventually(rows).toBe(2)
      for (const name of ['From', 'Until']) await page.getByLabel(new RegExp(`^${name} \\(.+\\)$`)).waitFor()
    })

    it('are those behind the numbers of the overview, also where these are of the sources of one destination', async () => {
      await using receiver = await startReceiver()
      const [lonely, busy] = [await web.node.createSource('Lost'), await web.node.createSource('Heard')]
      const { id } = await web.node.connect([busy], [receiver.url], { name: 'Hearing' })
      for (const [messageId, { writeKey }] of [
        ['lost-1', lonely],
        ['heard-1', busy],
      ] as const)
        await web.node.post('/track', writeKey, { userId: 'ada', messageId })
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/turned-away?userId=ada`)
      for (const messageId of ['lost-1', 'heard-1']) await page.getByRole('row', { name: messageId }).waitFor()
      await page.goto(`${web.node.url}/?destinationId=${id}`)
      await page.getByRole('link', { name: 'Rejected', exact: true }).click()
      await page.getByRole('row', { name: 'heard-1' }).waitFor()
      expect(await page.getByRole('row').count()).toBe(2)
      const narrowed = page.getByRole('combobox', { name: 'Sources of destination' })
      expect(await narrowed.inputValue()).toBe('Hearing')
      expect(errors).toEqual([])
    })

    it('are not told of where deliveries of one status, name or type are looked for: they have none, or another', async () => {
      const source = await web.node.createSource('Lonely')
      await web.node.post('/track', source.writeKey, { userId: 'ada', event: 'Nowhere', messageId: 'lonely-1' })
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/turned-away?sourceId=${source.id}`)
      await page.getByRole('row', { name: /lonely-1/ }).waitFor()
      const told = page.getByText('The newest such event arrived but was not delivered to anyone.')
      await page.goto(`${web.node.url}/deliveries?sourceId=${source.id}`)
      await told.waitFor()
      for (const narrower of ['status=failed', 'event=Elsewhere', 'type=page']) {
        await page.goto(`${web.node.url}/deliveries?sourceId=${source.id}&${narrower}`)
        await page.getByText('No delivery matches these filters').waitFor()
        await page.getByText('are no longer kept.').waitFor()
        expect(await told.count()).toBe(0)
      }
    })

    it('are kept of a burst only as far as the page says, and one that is not is not said to have never come', async () => {
      const source = await web.node.createSource('Burst')
      const batch = Array.from({ length: 450 }, (_, n) => ({
        type: 'track',
        event: 'Burst',
        userId: 'ada',
        messageId: `burst-${n}`,
      }))
      await web.node.post('/batch', source.writeKey, { batch })
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/turned-away?sourceId=${source.id}`)
      await page.getByRole('row', { name: /burst-449/ }).waitFor()
      await page.getByText(/where more than 200 came within a second, only the newest of them\./).waitFor()
      await page.goto(`${web.node.url}/deliveries?messageId=burst-0`)
      await page.getByText('of many that came at once, only the newest are kept.').waitFor()
      await page.goto(`${web.node.url}/turned-away?messageId=burst-0`)
      await page.getByText('or too many others came with it or after it for it to be kept.').waitFor()
    })
  })
