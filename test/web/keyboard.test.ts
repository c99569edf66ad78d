import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Source } from '../../src/schemas/source.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { describeInBrowser, startBrowser, type TestBrowser } from './browser.ts'

/** More stops than any way through a page has. */
const maxTabs = 60

describeInBrowser('with the keyboard alone', () => {
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

  it('signs in, goes to the sources and creates one', { timeout: 90_000 }, async () => {
    const { page } = await browser.open()
    await page.goto(node.url)
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
    const { body } = await node.api<{ items: Source[] }>('GET', '/sources')
    expect(body.items.map(({ name }) => name)).toContain('Typed')
  })
})
