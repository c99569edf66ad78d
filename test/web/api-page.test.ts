/** The page at `/docs`: the logo, the way back, and examples that run for who is signed in. */

import { expect, it } from 'vitest'
import { describeInBrowser, nodeAndBrowser } from './browser.ts'

describeInBrowser('the page of the API', () => {
  const web = nodeAndBrowser()

  it('leads back to the web app and to the help', async () => {
    const { page, errors } = await web.open({ signedInTo: web.node.url })
    await page.goto(`${web.node.url}/docs`)
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Help' }).waitFor()
    expect(await page.title()).toBe('API reference · Postrider')
    await page.getByRole('link', { name: 'Postrider' }).click()
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    expect(errors).toEqual([])
  })

  it('runs what it shows, reads and changes', async () => {
    const { page, errors } = await web.open({ signedInTo: web.node.url })
    await page.goto(`${web.node.url}/docs`)
    const call = page.locator('#operations-sources-createSource')
    await call.locator('.opblock-summary').click()
    await call.locator('textarea').fill('{"name":"Made by the page"}')
    await call.getByRole('button', { name: 'Execute' }).click()
    await call.locator('.live-responses-table .response-col_status', { hasText: '201' }).waitFor()
    const list = page.locator('#operations-sources-listSources')
    await list.locator('.opblock-summary').click()
    await list.getByRole('button', { name: 'Execute' }).click()
    await list.locator('.live-responses-table', { hasText: 'Made by the page' }).waitFor()
    expect(errors).toEqual([])
  })
})
