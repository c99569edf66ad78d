import { describe, expect, it } from 'vitest'
import type { Status } from '../../../src/schemas/system.ts'
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
      await page.getByRole('button', { name: 'Resume' }).click()
      await page.getByText('Live', { exact: true }).waitFor()
      await send('Third')
      await send()
      await row(/Third/).waitFor()
      await row(/Rejected/).waitFor()
      expect(await row(/Second/).count()).toBe(0)

      await page.getByRole('combobox', { name: 'What became of it' }).click()
      await page.getByRole('option', { name: 'Rejected' }).click()
      await row(/Third/).waitFor({ state: 'detached' })
      await row(/Rejected/).waitFor()
      await page.getByLabel('Filter live events').fill('grace')
      await page.getByText('No event matches the filter.').waitFor()
      await page.getByRole('button', { name: 'Clear', exact: true }).click()
      await page.getByText('Waiting for events.').waitFor()
      // Only the minute of its latest event is known.
      await page.goto(`${web.node.url}/sources`)
      await page.getByRole('row', { name: /^Streamed On .*(?:less than \d|\d+) min ago/ }).waitFor()
      expect(errors).toEqual([])
    })

    it('says whose events it shows where nodes may be several', async () => {
      const source = await web.node.createSource('Shared')
      const { page } = await web.open({ signedInTo: web.node.url })
      const note = page.getByText('these are the ones that came to the node behind this page')
      await page.goto(`${web.node.url}/sources/${source.id}`)
      await page.getByText('Live', { exact: true }).waitFor()
      expect(await note.count()).toBe(0)
      // The node of these tests has a database of its own.
      await page.route('**/api/v1/status', async (route) => {
        const response = await route.fetch()
        const status = (await response.json()) as Status
        await route.fulfill({ response, json: { ...status, database: { ...status.database, kind: 'postgresql' } } })
      })
      await page.reload()
      await note.waitFor()
    })

    it('takes another write key, is switched off and deleted, and each change is written down', async () => {
      const source = await web.node.createSource('Closing')
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/sources/${source.id}`)
      await web.node.createSource('Taken name')
      const twin = await web.open({ signedInTo: web.node.url })
      await twin.page.goto(`${web.node.url}/sources`)
      await twin.page.getByRole('button', { name: 'Create a source' }).first().click()
      await twin.page.getByRole('dialog').getByLabel('Name').fill('Taken name')
      await twin.page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click()
      await twin.page.getByText('Another source has this name: choose another one.').waitFor()
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
        await page.getByRole('button', { name: 'Replace the key' }).click()
        await eventually(() => field.inputValue()).not.toBe(from)
        return field.inputValue()
      }
      const overlap = page.getByRole('combobox', { name: 'Keep the old key working for' })
      await overlap.click()
      await page.getByRole('option', { name: 'One day' }).click()
      const second = await rotate(source.writeKey)
      expect([await send(source.writeKey), await send(second)]).toEqual([200, 200])
      const oldKeys = page.getByRole('alert').getByText('The old key that begins with')
      await eventually(() => oldKeys.count()).toBe(1)
      // Each old key is told with its own end: that of the one before says nothing of the one that was replaced last.
      await overlap.click()
      await page.getByRole('option', { name: 'One hour' }).click()
      const third = await rotate(second)
      expect([await send(source.writeKey), await send(second), await send(third)]).toEqual([200, 200, 200])
      await eventually(() => oldKeys.count()).toBe(2)
      const told = async (key: string): Promise<number> => {
        const text = await page.getByText(`begins with ${key.slice(0, 6)} works until`).textContent()
        return Date.parse(/until (.*)\.$/.exec(text ?? '')?.[1] ?? '')
      }
      const hourMs = 3_600_000
      expect(Math.round(((await told(second)) - Date.now()) / hourMs)).toBe(1)
      expect(Math.round(((await told(source.writeKey)) - Date.now()) / hourMs)).toBe(24)
      await page.getByRole('button', { name: 'End them now' }).click()
      await page.getByRole('button', { name: 'End the old keys' }).click()
      await eventually(() => oldKeys.count()).toBe(0)
      expect([await send(source.writeKey), await send(second)]).toEqual([401, 401])

      await overlap.click()
      await page.getByRole('option', { name: 'No time: it stops at once' }).click()
      const writeKey = await rotate(third)
      expect([await send(third), await send(writeKey)]).toEqual([401, 200])

      await page.getByRole('switch', { name: 'On' }).press('Space')
      await page.getByText('Events with this write key are rejected').waitFor()
      const hasFocus = (element: Element): boolean => element === document.activeElement
      await eventually(() => page.getByRole('switch', { name: 'Off' }).evaluate(hasFocus)).toBe(true)
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
      const entry = page.getByRole('dialog', { name: 'Replaced the write key of source Closed' })
      await entry.getByText(new RegExp(`^By admin, .*: sources/${source.id}$`)).waitFor()
      const before = entry.getByRole('region', { name: 'before' })
      await before.getByText('"name": "Closed"').waitFor()
      expect(await before.textContent()).not.toContain(source.writeKey)
      expect(errorsBesideDeletionOf(`/sources/${source.id}`, errors)).toEqual([])
    })
  })
