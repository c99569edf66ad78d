import type { Locator } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import type { Destination } from '../../../src/schemas/destination.ts'
import { startReceiver } from '../../support/receiver.ts'
import { until } from '../../support/wait.ts'
import { eventually, seriousFindings, type WebTest } from '../browser.ts'

export const mappings = (web: WebTest) =>
  describe('the mapping of a destination', () => {
    it('is filled in by the keyboard, shows at once what it makes of events, and changes them', async () => {
      await using receiver = await startReceiver()
      const source = await web.node.createSource('Mapped')
      const { id } = await web.node.connect([source], [receiver.url], { name: 'Ads' })
      const stored = async () => (await web.node.api<Destination>('GET', `/destinations/${id}`)).body.mapping
      const send = (messageId: string, email: unknown) =>
        web.node.post('/identify', source.writeKey, { userId: 'u1', messageId, traits: { email, plan: 'pro' } })
      await send('mapping-before', 'ada@example.com')
      await send('mapping-not', { secret: 1 })
      await receiver.received(2)

      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/destinations/${id}`)
      await page.getByText('Events are sent as they came in. To change them').waitFor()
      const fontOf = (element: Locator): Promise<string> => element.evaluate((one) => getComputedStyle(one).fontFamily)
      expect(await fontOf(page.getByLabel('Expression'))).toMatch(/mono/i)
      expect(await fontOf(page.getByText('Expression', { exact: true }))).not.toMatch(/mono/i)
      for (const [label, path] of [
        ['Drop', 'context'],
        ['Hash', 'traits.email'],
      ] as const) {
        await page.getByRole('combobox', { name: label, exact: true }).pressSequentially(path)
        await page.keyboard.press('Enter')
      }
      await page.getByRole('button', { name: 'Add a renaming' }).press('Enter')
      await page.getByLabel('Path of renaming 1', { exact: true }).fill('traits.plan')
      await page.getByLabel('New path of renaming 1').fill('traits.level')
      for (const value of ['5', '"5"']) {
        await page.getByRole('button', { name: 'Add a value' }).press('Enter')
        const row = value === '5' ? 1 : 2
        await page.getByLabel(`Path of value ${row}`).fill(`traits.n${row}`)
        await page.getByLabel(`Value of value ${row}`).fill(value)
      }

      const tried = page.getByRole('region', { name: 'What it makes of the newest events' })
      await tried.getByText('1 of those that it takes is changed. 1 would fail').waitFor()
      await tried.getByRole('row', { name: /Fails.*hash of traits.email: the value is neither/ }).waitFor()
      const after = page.getByRole('region', { name: 'body after the mapping' })
      // What was tried before the last changes reads the same until it is opened.
      await until('the whole draft was tried', async () => {
        await tried.getByRole('button', { name: 'Show the body of mapping-before' }).press('Enter')
        await after.waitFor()
        const isWhole = (await after.getByText('"level": "pro"').count()) > 0
        if (!isWhole) await page.keyboard.press('Escape')
        return isWhole
      })
      await page.getByRole('region', { name: 'body', exact: true }).getByText('"ada@example.com"').waitFor()
      expect(await after.textContent()).not.toContain('ada@example.com')
      await page.keyboard.press('Escape')
      expect(await seriousFindings(page)).toEqual([])

      const save = page.getByRole('button', { name: 'Save the mapping' })
      await page.getByLabel('New path of renaming 1').fill('')
      await save.press('Enter')
      await page.getByText('Must not be empty.', { exact: true }).waitFor()
      expect(await stored()).toBeNull()
      await page.getByLabel('New path of renaming 1').fill('traits.level')
      await save.press('Enter')
      await eventually(stored).toEqual({
        drop: ['context'],
        hash: ['traits.email'],
        rename: { 'traits.plan': 'traits.level' },
        set: { 'traits.n1': 5, 'traits.n2': '5' },
      })
      await page.getByRole('button', { name: 'Discard changes to the mapping' }).waitFor({ state: 'hidden' })

      await send('mapping-after', 'ada@example.com')
      const request = (await receiver.received(3)).at(-1)
      const sent = JSON.parse(request?.body.toString() ?? '') as { traits: object }
      expect(sent).not.toHaveProperty('context')
      expect(sent.traits).toMatchObject({
        level: 'pro',
        n1: 5,
        n2: '5',
        email: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      })
      // What the delivery shows is what was sent.
      await page.goto(`${web.node.url}/deliveries/${encodeURIComponent(await deliveryOf('mapping-after'))}`)
      await page.getByRole('tab', { name: 'Body', exact: true }).click()
      await eventually(() => page.getByRole('region', { name: 'body', exact: true }).textContent()).toBe(
        request?.body.toString(),
      )
      // The refusal (400) and the drafts that were typed halfway are logged by the browser; nothing else is.
      expect(errors.filter((error) => !error.includes('400'))).toEqual([])
    })

    const deliveryOf = async (messageId: string): Promise<string> => {
      const path = `/deliveries?messageId=${messageId}`
      const first = async () => (await web.node.api<{ items: { id: string }[] }>('GET', path)).body.items[0]?.id
      await eventually(first).toBeTruthy()
      return (await first()) ?? ''
    }

    it('says at a row that the path stands in an earlier one, and saves neither meanwhile', async () => {
      const { id } = await web.node.connect([], [], { name: 'Twice' })
      const stored = async () => (await web.node.api<Destination>('GET', `/destinations/${id}`)).body.mapping
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/destinations/${id}`)
      const fill = async (one: string, row: number, path: string, label: string, value: string) => {
        await page.getByRole('button', { name: `Add a ${one}` }).click()
        await page.getByLabel(`Path of ${one} ${row}`, { exact: true }).fill(path)
        await page.getByLabel(`${label} of ${one} ${row}`, { exact: true }).fill(value)
      }
      await fill('value', 1, 'traits.plan', 'Value', 'pro')
      await fill('value', 2, 'traits.level', 'Value', '1')
      await fill('value', 3, ' traits.plan', 'Value', 'free')
      const ofValue = page.getByText('The path of value 1 is the same')
      await ofValue.waitFor()
      expect(await page.getByLabel('Path of value 3').getAttribute('aria-invalid')).toBe('true')
      expect(await page.getByLabel('Path of value 1').getAttribute('aria-invalid')).not.toBe('true')
      // Nothing is tried that would not be saved.
      await page.getByRole('region', { name: 'What it makes of the newest events' }).waitFor({ state: 'detached' })
      const save = page.getByRole('button', { name: 'Save the mapping' })
      await save.click()
      const problem = page.getByRole('alert').getByText('A path stands in two rows. Change or remove one of them.')
      await problem.waitFor()
      await page
        .getByRole('radiogroup', { name: 'Edit the mapping as' })
        .getByRole('radio', { name: 'JSON' })
        .press('Space')
      expect(await page.getByLabel('Value of value 1').inputValue()).toBe('pro')
      expect(await stored()).toBeNull()
      await page.getByRole('button', { name: 'Remove value 3' }).click()
      await ofValue.waitFor({ state: 'detached' })

      await fill('renaming', 1, 'event', 'New path', 'name')
      await fill('renaming', 2, 'event', 'New path', 'title')
      await page.getByText('The path of renaming 1 is the same').waitFor()
      await page.getByLabel('Path of renaming 2', { exact: true }).fill('type')
      await page.getByText('The path of renaming 1 is the same').waitFor({ state: 'detached' })
      await page.getByLabel('New path of renaming 2').fill('name')
      await page.getByText('The new path of renaming 1 is the same').waitFor()
      await page.getByLabel('New path of renaming 2').fill('title')
      await save.click()
      await eventually(stored).toEqual({
        rename: { event: 'name', type: 'title' },
        set: { 'traits.plan': 'pro', 'traits.level': 1 },
      })
    })

    it('says at a row that its path is missing', async () => {
      const { id } = await web.node.connect([], [], { name: 'Without a path' })
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/destinations/${id}`)
      for (const one of ['renaming', 'value']) {
        await page.getByRole('button', { name: `Add a ${one}` }).click()
        await page.getByRole('button', { name: 'Save the mapping' }).click()
        const path = page.getByLabel(`Path of ${one} 1`, { exact: true })
        await eventually(() => path.getAttribute('aria-invalid')).toBe('true')
        await page.getByText('Must have a path of 1 to 256 characters for each value.', { exact: true }).waitFor()
        await page.getByRole('button', { name: `Remove ${one} 1` }).click()
      }
    })

    it('is saved by the first click, also when what was typed last brings up what becomes of events', async () => {
      const source = await web.node.createSource('Mapped by a click')
      const { id } = await web.node.connect([source], ['http://127.0.0.1:9/hook'])
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/destinations/${id}`)
      const save = page.getByRole('button', { name: 'Save the mapping' })
      await page.getByRole('combobox', { name: 'Drop', exact: true }).pressSequentially('context')
      await save.scrollIntoViewIfNeeded()
      const place = await save.boundingBox()
      await page.mouse.move((place?.x ?? 0) + 5, (place?.y ?? 0) + 5)
      await page.mouse.down()
      // The field has lost the focus, and with it the mapping has its first path.
      await page.getByRole('region', { name: 'What it makes of the newest events' }).waitFor()
      await page.mouse.up()
      await page.getByText('Saved. It changes the events that come in from now on.').waitFor()
      const { body } = await web.node.api<Destination>('GET', `/destinations/${id}`)
      expect(body.mapping).toEqual({ drop: ['context'] })
    })

    it('is written as JSON, too, and seen by viewers', async () => {
      const { id } = await web.node.connect([], [], { mapping: { drop: ['context.ip'] } })
      const stored = async () => (await web.node.api<Destination>('GET', `/destinations/${id}`)).body.mapping
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/destinations/${id}`)
      const ways = page.getByRole('radiogroup', { name: 'Edit the mapping as' })
      await ways.getByRole('radio', { name: 'JSON' }).press('Space')
      const text = page.getByLabel('Mapping as JSON')
      await eventually(() => text.inputValue()).toContain('"context.ip"')
      await text.fill('{ "move": ["a"] }')
      await ways.getByRole('radio', { name: 'Form' }).press('Space')
      await page.getByText('A form cannot show this mapping').waitFor()
      const save = page.getByRole('button', { name: 'Save the mapping' })
      await save.click()
      await page.getByRole('alert').getByText('apping.move').waitFor()
      await page.getByText(/^Not tried yet\. Correct the JSON above first\. .*[Mm]apping\.move/).waitFor()
      await text.fill('{ "keep": ["type"] }')
      await save.click()
      await eventually(stored).toEqual({ keep: ['type'] })
      await page.getByRole('button', { name: 'Discard changes to the mapping' }).waitFor({ state: 'hidden' })
      await ways.getByRole('radio', { name: 'Form' }).press('Space')
      const expression = page.getByLabel('Expression')
      await expression.fill('{ "at": ')
      await page.getByText(/^Not tried yet\. Correct the fields above first\. Must be JSONata: /).waitFor()
      await expression.fill('{ "at": $now() }')
      await save.click()
      // The preview says so, too, in words of its own.
      await page.getByText('Must not use $now: it is not the same in every attempt.', { exact: true }).waitFor()
      await expression.fill('{ "kind": type }')
      await save.click()
      await eventually(stored).toEqual({ keep: ['type'], expression: '{ "kind": type }' })

      const { body: viewer } = await web.node.api<{ token: string }>('POST', '/tokens', {
        name: 'Sees mappings',
        role: 'viewer',
      })
      const other = await web.open({ signedInTo: web.node.url, token: viewer.token })
      await other.page.goto(`${web.node.url}/destinations/${id}`)
      await other.page.getByRole('region', { name: 'mapping' }).getByText('"keep"').waitFor()
    })
  })
