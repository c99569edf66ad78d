import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import type { CreatedApiToken } from '../../../src/schemas/access.ts'
import type { Source } from '../../../src/schemas/source.ts'
import { signIn, type WebTest } from '../browser.ts'

/** More stops than any way through a page has. */
const maxTabs = 60

export const signingIn = (web: WebTest) =>
  describe('signing in', () => {
    it('refuses a wrong token and says what to do', async () => {
      const { page } = await web.open()
      await page.goto(`${web.node.url}/deliveries`)
      await page.getByLabel('Token').fill('not-the-token')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('alert').getByText('This token is unknown').waitFor()
      expect(new URL(page.url()).pathname).toBe('/login')
    })

    it('goes on to the page that was asked for', async () => {
      const { page } = await web.open()
      await page.goto(`${web.node.url}/deliveries?status=failed`)
      await page.getByLabel('Token').fill('test-admin-token')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Deliveries', level: 1 }).waitFor()
      expect(page.url()).toBe(`${web.node.url}/deliveries?status=failed`)
    })

    it('takes the token of the login link out of the address, and keeps it out of reach of scripts', async () => {
      const { page, errors } = await web.open()
      await signIn(page, web.node.url)
      expect(page.url()).toBe(`${web.node.url}/`)
      expect(await page.evaluate(() => document.cookie)).toBe('')
      expect(errors).toEqual([])
    })

    it('ends the session at sign-out', async () => {
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/sources`)
      await page.getByRole('button', { name: 'Account' }).click()
      await page.getByRole('menuitem', { name: 'Sign out' }).click()
      await page.getByRole('heading', { name: 'Sign in to Postrider' }).waitFor()
      await page.goto(`${web.node.url}/sources`)
      await page.getByRole('heading', { name: 'Sign in to Postrider' }).waitFor()
    })

    it('lets a viewer look at everything but secrets, and change nothing', async () => {
      const source = await web.node.createSource('Website')
      const { body: token } = await web.node.api<CreatedApiToken>('POST', '/tokens', { name: 'Guest', role: 'viewer' })
      const { page } = await web.open({ signedInTo: web.node.url, token: token.token })
      await page.goto(`${web.node.url}/sources/${source.id}`)
      await page.getByText('Viewer', { exact: true }).waitFor()
      await page.getByRole('heading', { name: 'Website', level: 1 }).waitFor()
      await page.getByText('Only administrators can see write keys.').waitFor()
      expect(await page.content()).not.toContain(source.writeKey)
      for (const name of ['Delete source', 'Rotate']) expect(await page.getByRole('button', { name }).count()).toBe(0)

      await web.node.connect([source], ['http://127.0.0.1:9/'])
      await web.node.post('/track', source.writeKey, { userId: 'u1', event: 'Seen' })
      await page.goto(web.node.url)
      await page.getByRole('link', { name: 'See the destination' }).first().waitFor()
      await page.goto(`${web.node.url}/audiences`)
      await page.getByText('Only administrators can create one.').waitFor()

      const status = await page.evaluate(async (id) => {
        const response = await fetch(`/api/v1/sources/${id}`, {
          method: 'DELETE',
          headers: { 'x-postrider-csrf': '1' },
        })
        return response.status
      }, source.id)
      expect(status).toBe(403)
      expect((await web.node.api('GET', `/sources/${source.id}`)).status).toBe(200)
    })

    it('takes an API token that was made in the settings, until it is revoked there', async () => {
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/settings?tab=tokens`)
      await page.getByLabel('Name').fill('Deploys')
      await page.getByRole('combobox', { name: 'Role' }).click()
      await page.getByRole('option', { name: 'Admin' }).click()
      await page.getByRole('button', { name: 'Create token' }).click()
      const token = (await page.getByRole('region', { name: 'token' }).textContent()) ?? ''
      await page.getByRole('cell', { name: 'Deploys', exact: true }).waitFor()

      const { page: guest } = await web.open({ signedInTo: web.node.url, token })
      await guest.goto(`${web.node.url}/sources`)
      await guest.getByRole('button', { name: 'Create a source' }).first().waitFor()

      await page.getByRole('button', { name: 'Revoke Deploys' }).click()
      await page.getByRole('button', { name: 'Revoke the token' }).click()
      await page.getByRole('cell', { name: 'Deploys', exact: true }).waitFor({ state: 'detached' })
      await guest.reload()
      await guest.getByRole('heading', { name: 'Sign in to Postrider' }).waitFor()
      expect(errors).toEqual([])
    })

    it('leads with the keyboard alone to the sources and to a new one', async () => {
      const { page } = await web.open()
      await page.goto(web.node.url)
      await page.getByLabel('Token').waitFor()
      await page.keyboard.type('test-admin-token')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()

      await page.keyboard.press('Control+k')
      await page.getByRole('textbox', { name: 'Go to' }).waitFor()
      await page.keyboard.type('Sources')
      await page.locator('[data-selected]').getByText('Sources', { exact: true }).waitFor()
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Sources', level: 1 }).waitFor()

      await tabTo(page, 'Create a source')
      await page.keyboard.press('Enter')
      await page.getByRole('dialog').getByLabel('Name').waitFor()
      await page.waitForFunction(() => document.activeElement?.tagName === 'INPUT')
      await page.keyboard.type('Typed')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Typed', level: 1 }).waitFor()
      const { body } = await web.node.api<{ items: Source[] }>('GET', '/sources')
      expect(body.items.map(({ name }) => name)).toContain('Typed')
    })
  })

/** Presses Tab until the focus is on the button or link of this name. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let tabs = 0; tabs < maxTabs; tabs++) {
    await page.keyboard.press('Tab')
    const focused = await page.evaluate(() => {
      const element = document.activeElement
      return (element?.getAttribute('aria-label') ?? element?.textContent ?? '').trim()
    })
    if (focused === name) return
  }
  throw new Error(`the focus never came to ${name}`)
}
