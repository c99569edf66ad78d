import { describe, expect, it } from 'vitest'
import { errorsBesideDeletionOf, eventually, type WebTest } from '../browser.ts'

export const sources = (web: WebTest) =>
  describe('a source', () => {
    it('shows its events as they come in: paused, by fate, by words', async () => {
      const source = await web.node.createSource('Streamed')
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/sources/${source.id}`)
      const send = (event?: string) => web.node.post('/track', source.writeKey, { userId: 'ada', event })
      const row = (name: string | RegExp) => page.getByRole('row', { name })
      await page.getByText('Live', { exact: true }).waitFor()
      await send('First')
      await row(/First.*No destination/).waitFor()
      await page.getByRole('button', { name: 'Pause' }).click()
      await page.getByText('Paused', { exact: true }).waitFor()
      await send('Second')
      await page.getByRole('button', { name: 'Go on' }).click()
      await page.getByText('Live', { exact: true }).waitFor()
      await send('Third')
      await send()
      await row(/Third/).waitFor()
      await row(/Rejected/).waitFor()
      expect(await row(/Second/).count()).toBe(0)

      await page.getByRole('combobox', { name: 'Fate' }).click()
      await page.getByRole('option', { name: 'Rejected' }).click()
      await row(/Third/).waitFor({ state: 'detached' })
      await row(/Rejected/).waitFor()
      await page.getByLabel('Filter live events').fill('grace')
      await page.getByText('No event fits the filter.').waitFor()
      await page.getByRole('button', { name: 'Clear', exact: true }).click()
      await page.getByText('Waiting for events.').waitFor()
      expect(errors).toEqual([])
    })

    it('takes another write key, is switched off and deleted, and each change is written down', async () => {
      const source = await web.node.createSource('Closing')
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/sources/${source.id}`)
      await web.node.createSource('Taken name')
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Taken name')
      await page.getByText('Another source has this name').waitFor()
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Closed')
      await page.getByRole('button', { name: 'Rename' }).click()
      await page.getByRole('heading', { name: 'Closed', level: 1 }).waitFor()
      const send = async (writeKey: string): Promise<number> =>
        (await web.node.post('/track', writeKey, { userId: 'ada', event: 'Sent' })).status
      const field = page.getByRole('textbox', { name: 'Write key', exact: true })
      const rotate = async (from: string): Promise<string> => {
        await page.getByRole('button', { name: 'Rotate' }).click()
        await page.getByRole('button', { name: 'Replace it' }).click()
        await eventually(() => field.inputValue()).not.toBe(from)
        return field.inputValue()
      }
      const overlap = page.getByRole('combobox', { name: 'the old key goes on working' })
      await overlap.click()
      await page.getByRole('option', { name: 'One day' }).click()
      const second = await rotate(source.writeKey)
      expect([await send(source.writeKey), await send(second)]).toEqual([200, 200])
      await page.getByText('An earlier key works until').waitFor()
      await page.getByRole('button', { name: 'End it now' }).click()
      await page.getByRole('button', { name: 'End them' }).click()
      await page.getByText('An earlier key works until').waitFor({ state: 'detached' })
      expect(await send(source.writeKey)).toBe(401)

      await overlap.click()
      await page.getByRole('option', { name: 'Not at all' }).click()
      const writeKey = await rotate(second)
      expect([await send(second), await send(writeKey)]).toEqual([401, 200])

      await page.getByRole('switch', { name: 'On' }).press('Space')
      await page.getByText('Events with this write key are refused').waitFor()
      expect(await send(writeKey)).toBe(401)

      await page.getByRole('button', { name: 'Delete source' }).click()
      await page.getByRole('button', { name: 'Delete the source' }).click()
      await page.getByRole('heading', { name: 'Sources', level: 1 }).waitFor()
      expect((await web.node.api('GET', `/sources/${source.id}`)).status).toBe(404)

      await page.goto(`${web.node.url}/settings?tab=audit`)
      await page
        .getByRole('row', { name: /Replaced the write key of source/ })
        .first()
        .getByRole('button')
        .click()
      const before = page.getByRole('dialog').getByRole('region', { name: 'before' })
      await before.getByText('"name": "Closed"').waitFor()
      expect(await before.textContent()).not.toContain(source.writeKey)
      expect(errorsBesideDeletionOf(`/sources/${source.id}`, errors)).toEqual([])
    })
  })
