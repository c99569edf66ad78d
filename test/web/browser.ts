/** A real browser on a real node: pages that are signed in, watched for errors and held against accessibility rules. */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions } from 'axe-core'
import type { BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'
import { adminToken } from '../support/app.ts'
import { launchChromium } from '../support/chromium.ts'

export { describeInBrowser } from '../support/chromium.ts'

/** How long the app may take for a step on a loaded machine, in milliseconds. */
const stepLimitMs = 20_000

export interface TestBrowser extends AsyncDisposable {
  /** A page of a browser profile of its own. */
  open(options?: PageOptions): Promise<TestPage>
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

export async function startBrowser(): Promise<TestBrowser> {
  const browser = await launchChromium()
  return {
    async open({ signedInTo, token = adminToken } = {}) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' })
      if (signedInTo !== undefined) await beginSession(context, signedInTo, token)
      const page = await context.newPage()
      page.setDefaultTimeout(stepLimitMs)
      const errors: string[] = []
      page.on('console', (message) => {
        if (message.type() === 'error') errors.push(`${message.text()} (${message.location().url})`)
      })
      page.on('pageerror', (error) => errors.push(error.message))
      return { page, errors }
    },
    [Symbol.asyncDispose]: () => browser.close(),
  }
}

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
  await page.evaluate(axeSource)
  const { violations } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ['violations'] }))
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')} ${failureSummary}`),
    )
}

/** Tries until it holds; a page shows the state of the server a moment later. */
export const eventually = <Value>(read: () => Promise<Value> | Value) => expect.poll(read, { timeout: stepLimitMs })
