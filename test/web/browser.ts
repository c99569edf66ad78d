/** A real browser on a real node: pages that are signed in, watched for errors and held against accessibility rules. */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions } from 'axe-core'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { adminToken, startTestApp, type TestApp } from '../support/app.ts'
import { launchChromium } from '../support/chromium.ts'
import { startTcpRelay, type TcpRelay } from '../support/tcp-relay.ts'
import { temporalAddress } from '../support/temporal.ts'

export { describeInBrowser } from '../support/chromium.ts'

/** How long the app may take for a step on a loaded machine, in milliseconds. */
const stepLimitMs = 60_000

/** A node and a browser that the tests of a file share. */
export interface WebTest {
  node: TestApp
  /** The node's way to Temporal. */
  wayToTemporal: TcpRelay
  /** A page of a browser profile of its own, closed when the test ends: open, it would go on asking for news. */
  open(this: void, options?: PageOptions): Promise<TestPage>
}

export interface PageOptions {
  /** URL of a node that it is signed in to before its first page, as with the sign-in form. */
  signedInTo?: string
  /** Who signs in; the configured admin unless given. */
  token?: string
}

export interface TestPage {
  page: Page
  /** Messages of the console that are errors, and exceptions, so far. */
  errors: string[]
}

/** Retries so slow that only a person who wakes a delivery brings its next attempt within the test. */
const environment = {
  POSTRIDER_RETRY_INITIAL: '30m',
  POSTRIDER_RETRY_MAX: '1h',
  POSTRIDER_RETRY_WINDOW: '4h',
  TEMPORAL_UI_URL: 'http://127.0.0.1:8233',
}

/** Starts both before the tests of the file, and ends them afterwards.
 *  @returns what is there as soon as the first test runs */
export function nodeAndBrowser(): WebTest {
  const web = {} as WebTest
  let browser: Browser
  beforeAll(async () => {
    web.wayToTemporal = await startTcpRelay(Number(temporalAddress().split(':')[1]))
    const address = { TEMPORAL_ADDRESS: `127.0.0.1:${web.wayToTemporal.port}` }
    web.node = await startTestApp({ environment: { ...environment, ...address } })
    browser = await launchChromium()
    web.open = (pageOptions) => openPage(browser, pageOptions)
  })
  afterAll(async () => {
    await browser.close()
    await web.node[Symbol.asyncDispose]()
    await web.wayToTemporal[Symbol.asyncDispose]()
  })
  return web
}

export async function openPage(
  browser: Browser,
  { signedInTo, token = adminToken }: PageOptions = {},
): Promise<TestPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' })
  onTestFinished(() => context.close())
  if (signedInTo !== undefined) await beginSession(context, signedInTo, token)
  // Also for further pages of this profile.
  context.setDefaultTimeout(stepLimitMs)
  const page = await context.newPage()
  const errors: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(`${message.text()} (${message.location().url})`)
  })
  page.on('pageerror', (error) => errors.push(error.message))
  return { page, errors }
}

/** Errors of a page that shows something which is deleted, but for what it logs when it asks for news at that very moment.
 *  @param path  what is deleted, below `/api/v1` */
export const errorsBesideDeletionOf = (path: string, errors: readonly string[]): string[] =>
  errors.filter((error) => !(error.includes('404 (Not Found)') && error.includes(`/api/v1${path}`)))

/** Gives the profile the cookie of a session, which saves the two pages of a sign-in. */
async function beginSession(context: BrowserContext, url: string, token: string): Promise<void> {
  const answer = await context.request.post(`${url}/api/v1/session`, { data: { token } })
  if (!answer.ok()) throw new Error(`not signed in: ${answer.status()} ${await answer.text()}`)
}

/** Signs the page in by the login link, as the start-up text has it. */
export async function signIn(page: Page, url: string, token = adminToken): Promise<void> {
  await page.goto(`${url}/login#token=${token}`)
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
}

declare global {
  var axe: { run(options: RunOptions): Promise<AxeResults> }
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Findings of the accessibility checker that are serious or critical, as rule and element. */
export async function seriousFindings(page: Page): Promise<string[]> {
  // Once per page: it is half a megabyte.
  if (await page.evaluate(() => !('axe' in globalThis))) await page.evaluate(axeSource)
  const { violations } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ['violations'] }))
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')} ${failureSummary}`),
    )
}

/** How a page is looked at. */
export interface Look {
  name: string
  /** Of the window, in pixels. */
  width: number
  colorScheme: 'light' | 'dark'
}

export const wideAndLight: Look = { name: 'wide and light', width: 1280, colorScheme: 'light' }
export const wideAndDark: Look = { name: 'wide and dark', width: 1280, colorScheme: 'dark' }
export const mediumAndLight: Look = { name: '768 px wide and light', width: 768, colorScheme: 'light' }
export const narrowAndDark: Look = { name: '375 px wide and dark', width: 375, colorScheme: 'dark' }

/** Gives the page that is open the look, without loading it again. */
export async function show(page: Page, { width, colorScheme }: Look): Promise<void> {
  await page.setViewportSize({ width, height: 800 })
  await page.emulateMedia({ colorScheme })
  await page.waitForFunction(
    (scheme) =>
      document.documentElement.dataset['mantineColorScheme'] === scheme &&
      document.getAnimations().every(({ effect }) => effect?.getComputedTiming().endTime === Infinity),
    colorScheme,
  )
}

/** Words of tables that are broken, although a column has room for words of their length. Parts of addresses and ids are none: these break
 *  where they must. */
export const brokenWords = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const usualLength = 11
    const broken: string[] = []
    for (const cell of document.querySelectorAll('main td, main th')) {
      const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT)
      for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
        for (const { 0: word, index } of (text.textContent ?? '').matchAll(
          /(?<!\S)[\p{L}\p{M}]+(?=[.,;:…]?(?:\s|$))/gu,
        )) {
          const range = document.createRange()
          range.setStart(text, index)
          range.setEnd(text, index + word.length)
          const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)))
          if (word.length <= usualLength && lines.size > 1) broken.push(word)
        }
      }
    }
    return broken
  })

/** Tries until it holds; a page shows the state of the server a moment later. */
export const eventually = <Value>(read: () => Promise<Value> | Value) => expect.poll(read, { timeout: stepLimitMs })
