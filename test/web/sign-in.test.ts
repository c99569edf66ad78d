import { afterAll, beforeAll, expect, it } from 'vitest'
import type { CreatedApiToken } from '../../src/schemas/access.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { describeInBrowser, signIn, startBrowser, type TestBrowser } from './browser.ts'

describeInBrowser('signing in', () => {
  let node: TestApp
  let browser: TestBrowser
  beforeAll(async () => {
    node = await startTestApp()
    browser = await startBrowser()
  })
  afterAll(async () => {
    await browser[Symbol.asyncDispose]()
    await node[Symbol.asyncDispose]()
  })

  it('refuses a wrong token and says what to do', async () => {
    const { page } = await browser.open()
    await page.goto(`${node.url}/deliveries`)
    await page.getByLabel('Token').fill('not-the-token')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').getByText('This token is not known').waitFor()
    expect(new URL(page.url()).pathname).toBe('/login')
  })

  it('goes on to the page that was asked for', async () => {
    const { page } = await browser.open()
    await page.goto(`${node.url}/deliveries?status=failed`)
    await page.getByLabel('Token').fill('test-admin-token')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Deliveries', level: 1 }).waitFor()
    expect(page.url()).toBe(`${node.url}/deliveries?status=failed`)
  })

  it('takes the token of the login link out of the address, and keeps it out of reach of scripts', async () => {
    const { page, errors } = await browser.open()
    await signIn(page, node.url)
    expect(page.url()).toBe(`${node.url}/`)
    expect(await page.evaluate(() => document.cookie)).toBe('')
    expect(errors).toEqual([])
  })

  it('ends the session at sign-out', async () => {
    const { page } = await browser.open()
    await signIn(page, node.url)
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to Postrider' }).waitFor()
    await page.goto(`${node.url}/sources`)
    await page.getByRole('heading', { name: 'Sign in to Postrider' }).waitFor()
  })

  it('lets a viewer look at everything but secrets, and change nothing', async () => {
    const source = await node.createSource('Website')
    const { body: token } = await node.api<CreatedApiToken>('POST', '/tokens', { name: 'Guest', role: 'viewer' })
    const { page } = await browser.open()
    await signIn(page, node.url, token.token)
    await page.getByText('Viewer', { exact: true }).waitFor()

    await page.goto(`${node.url}/sources/${source.id}`)
    await page.getByRole('heading', { name: 'Website', level: 1 }).waitFor()
    await page.getByText('Write keys are shown to administrators alone.').waitFor()
    expect(await page.content()).not.toContain(source.writeKey)
    for (const name of ['Delete source', 'Rotate']) expect(await page.getByRole('button', { name }).count()).toBe(0)

    const status = await page.evaluate(async (id) => {
      const response = await fetch(`/api/v1/sources/${id}`, { method: 'DELETE', headers: { 'x-postrider-csrf': '1' } })
      return response.status
    }, source.id)
    expect(status).toBe(403)
    expect((await node.api('GET', `/sources/${source.id}`)).status).toBe(200)
  })
})
