import { describe, expect, it } from 'vitest'
import type { Destination } from '../../../src/schemas/destination.ts'
import { adminToken } from '../../support/app.ts'
import { startReceiver } from '../../support/receiver.ts'
import { eventually, seriousFindings, type WebTest } from '../browser.ts'
import { pressAt, tabTo } from '../keyboard.ts'

export const byKeyboard = (web: WebTest) =>
  describe('the keyboard', () => {
    it('goes on in a row that was added, at the button that adds one when one was removed, and in a field that was saved', async () => {
      await using receiver = await startReceiver()
      const { id } = await web.node.connect([], [receiver.url], { name: 'Rows' })
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/destinations/${id}`)
      const isFocused = (label: string) =>
        page.getByLabel(label, { exact: true }).evaluate((field) => field.matches(':focus'))
      const button = (name: string) => page.getByRole('button', { name, exact: true })

      await pressAt(page, button('Add a header'))
      await eventually(() => isFocused('Name of header 1')).toBe(true)
      await page.keyboard.type('x-team')
      await page.keyboard.press('Tab')
      await page.keyboard.type('growth')
      await page.keyboard.press('Enter')
      const stored = async () =>
        (await web.node.api<Destination>('GET', `/destinations/${id}`)).body.settings.webhooks[0]
      await eventually(async () => Object.keys((await stored())?.headers ?? {})).toEqual(['x-team'])
      await button('Discard changes').waitFor({ state: 'hidden' })
      await pressAt(page, button('Remove header 1'))
      expect(await button('Add a header').evaluate((element) => element.matches(':focus'))).toBe(true)

      for (const n of [2, 3, 4, 5]) {
        await pressAt(page, button('Add an endpoint'))
        const url = page.getByRole('group', { name: `Endpoint ${n}` }).getByLabel('URL')
        expect(await url.evaluate((field) => field.matches(':focus'))).toBe(true)
      }
      for (const n of [5, 4, 3, 2]) {
        await pressAt(page, button(`Remove endpoint ${n}`))
        expect(await button('Add an endpoint').evaluate((element) => element.matches(':focus'))).toBe(true)
      }
      const url = page.getByRole('group', { name: 'Endpoint 1' }).getByLabel('URL')
      await tabTo(page, url)
      await url.fill(`${receiver.url}/saved`)
      await page.keyboard.press('Enter')
      await eventually(async () => (await stored())?.url).toBe(`${receiver.url}/saved`)
      await button('Discard changes').waitFor({ state: 'hidden' })
      await eventually(() => url.evaluate((field) => field.matches(':focus'))).toBe(true)

      for (const [add, field, remove] of [
        ['Add a rule', 'Whether rule 1 must hold', 'Remove rule 1'],
        ['Add a renaming', 'Path of renaming 1', 'Remove renaming 1'],
      ] as const) {
        await pressAt(page, button(add))
        expect(await isFocused(field)).toBe(true)
        await pressAt(page, button(remove))
        expect(await button(add).evaluate((element) => element.matches(':focus'))).toBe(true)
      }
      // What is not complete yet is refused (400) where it is tried as it is typed, which the browser logs.
      expect(errors.filter((error) => !error.includes('400'))).toEqual([])
    })

    it('comes to the eye of what is typed in secret', async () => {
      const { page, errors } = await web.open()
      await page.goto(`${web.node.url}/login`)
      await page.getByLabel('Token').fill('typed')
      await page.keyboard.press('Tab')
      await page.keyboard.press('Space')
      expect(await page.getByLabel('Token').getAttribute('type')).toBe('text')
      expect(await page.getByRole('button', { name: 'Show what is typed', pressed: true }).count()).toBe(1)
      expect(errors).toEqual([])
    })

    it('goes on in the field in which it was when the session had ended', async () => {
      const { id } = await web.node.connect([], ['http://127.0.0.1:9/hook'], { name: 'Interrupted' })
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/destinations/${id}`)
      const name = page.getByRole('textbox', { name: 'Name', exact: true })
      await name.fill('Interrupted, and saved')
      await page.context().clearCookies()
      await page.keyboard.press('Enter')
      const ended = page.getByRole('dialog', { name: 'Your session has ended' })
      await ended.getByLabel('Token').fill(adminToken)
      await page.keyboard.press('Enter')
      await ended.waitFor({ state: 'detached' })
      await eventually(() => name.evaluate((field) => field.matches(':focus'))).toBe(true)
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Interrupted, and saved', level: 1 }).waitFor()
    })

    it('stands in the first wrong field of a step of the wizard, which does not call a secret new that it saved', async () => {
      await using receiver = await startReceiver()
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/catalog/webhooks`)
      const button = (name: string) => page.getByRole('button', { name, exact: true })
      const isFocused = (label: string) =>
        page
          .getByLabel(label)
          .first()
          .evaluate((field) => field.matches(':focus'))
      await page.getByLabel('Name of the destination').fill('')
      await pressAt(page, button('Next'))
      expect(await isFocused('Name of the destination')).toBe(true)
      await page.keyboard.type('By keyboard')
      await page.getByRole('checkbox', { name: /^No source/ }).check()
      await page.keyboard.press('Enter')
      await page.getByLabel('URL').fill(receiver.url)
      await pressAt(page, button('Add a header'))
      await page.keyboard.type('x team')
      await page.keyboard.press('Enter')
      await page.getByText('HTTP does not allow other characters here').waitFor()
      expect(await isFocused('Name of header 1')).toBe(true)
      await page.getByLabel('Name of header 1').fill('x-team')
      await page.keyboard.press('Enter')
      await page.getByLabel('Shared secret').fill('known to two')
      await page.keyboard.press('Enter')
      await button('Switch on').waitFor()
      await pressAt(page, button('Back'))
      expect(await page.getByLabel('Shared secret', { exact: true }).inputValue()).toBe('known to two')
      // Sent again it would be a new one, beside which requests are signed with the old one for a day.
      const savedAgain = page.waitForRequest((request) => request.method() === 'PATCH')
      await pressAt(page, button('Save and test'))
      expect((await savedAgain).postDataJSON()).not.toHaveProperty('settings.sharedSecret')
      await pressAt(page, button('Switch on'))
      await page.getByText('By keyboard is on').waitFor()
      const next = page.getByRole('link', { name: 'Open the audiences' })
      await eventually(() => next.evaluate((link) => link.matches(':focus'))).toBe(true)
      const { body } = await web.node.api<{ items: Destination[] }>('GET', '/destinations')
      const made = body.items.find(({ name }) => name === 'By keyboard')
      expect(made?.settings.hasSharedSecret).toBe(true)
      expect(Object.keys(made?.settings.webhooks[0]?.headers ?? {})).toEqual(['x-team'])
      expect(errors).toEqual([])
    })

    it('goes through the filters of a list and keeps its place, and every button has a name', async () => {
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      for (const [path, first] of [
        ['/deliveries', 'Status'],
        ['/turned-away', 'What became of it'],
      ] as const) {
        await page.goto(`${web.node.url}${path}`)
        const from = page.getByRole('button', { name: 'From (UTC)', exact: true })
        await pressAt(page, from)
        await page.getByRole('button', { name: '1 hour ago' }).waitFor()
        await pressAt(page, page.getByRole('button', { name: '1 hour ago' }))
        await eventually(() => new URL(page.url()).searchParams.has('since')).toBe(true)
        await pressAt(page, page.getByRole('button', { name: 'Use this time' }))
        await eventually(() => from.evaluate((element) => element.matches(':focus'))).toBe(true)
        expect(await seriousFindings(page)).toEqual([])
        await page.getByRole('button', { name: 'Clear From (UTC)' }).waitFor()
        await pressAt(page, page.getByRole('search').getByRole('button', { name: 'Clear filters' }))
        await eventually(() => new URL(page.url()).search).toBe('')
        const field = page.getByRole('combobox', { name: first })
        expect(await field.evaluate((element) => element.matches(':focus'))).toBe(true)
      }
      expect(errors).toEqual([])
    })

    it('chooses in a filter what is typed into it, by Enter alone', async () => {
      await using receiver = await startReceiver()
      const source = await web.node.createSource('Typed by name')
      await web.node.connect([source], [receiver.url], { name: 'Typed as destination' })
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      for (const [path, label, name, parameter] of [
        ['/deliveries', 'Source', 'Typed by name', 'sourceId'],
        ['/deliveries', 'Destination', 'Typed as destination', 'destinationId'],
        ['/turned-away', 'Source', 'Typed by name', 'sourceId'],
      ] as const) {
        await page.goto(`${web.node.url}${path}`)
        const field = page.getByRole('combobox', { name: label, exact: true })
        const chosen = () => new URL(page.url()).searchParams.has(parameter)
        await tabTo(page, field)
        await page.keyboard.type('no such name')
        await page.getByText('None fits').waitFor()
        await page.keyboard.press('Enter')
        expect(chosen()).toBe(false)
        await page.keyboard.press('ControlOrMeta+a')
        await page.keyboard.type(name.toLowerCase())
        await page.getByRole('option', { name }).waitFor()
        await page.keyboard.press('Enter')
        await eventually(chosen).toBe(true)
        await page.getByRole('option', { name }).waitFor({ state: 'hidden' })
        expect(await field.inputValue()).toBe(name)
        // What is chosen already stays so.
        await page.keyboard.press('Enter')
        await page.keyboard.press('ArrowDown')
        await page.getByRole('option', { name }).waitFor()
        expect(await page.locator(`#${await field.getAttribute('aria-activedescendant')}`).textContent()).toBe(name)
        await page.keyboard.press('Escape')
        await page.keyboard.press('Tab')
        expect(chosen()).toBe(true)
      }
      expect(errors).toEqual([])
    })

    it('empties all filters, one that was typed a moment ago, too', async () => {
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/deliveries?type=track`)
      await page.getByRole('textbox', { name: 'Event name, exact' }).focus()
      await page.keyboard.insertText('Typed in vain')
      await page.getByRole('button', { name: 'Clear filters' }).click()
      // Longer than a pause in typing until a list follows.
      await page.waitForTimeout(1_000)
      expect(new URL(page.url()).search).toBe('')
      expect(await page.getByRole('textbox', { name: 'Event name, exact' }).inputValue()).toBe('')
      expect(errors).toEqual([])
    })

    it('does not go through the menu while that is closed on a narrow screen', async () => {
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.setViewportSize({ width: 375, height: 700 })
      await page.goto(`${web.node.url}/sources`)
      const heading = page.getByRole('heading', { name: 'Sources', level: 1 })
      await heading.waitFor()
      await tabTo(page, page.getByRole('button', { name: 'Account' }))
      await page.keyboard.press('Tab')
      expect(await page.evaluate(() => document.activeElement?.closest('main') !== null)).toBe(true)
      await pressAt(page, page.getByRole('button', { name: 'Open the menu' }))
      await pressAt(page, page.getByRole('link', { name: 'Destinations' }))
      await page.getByRole('heading', { name: 'Destinations', level: 1 }).waitFor()
      expect(errors).toEqual([])
    })
  })
