/** The documentation at `/help`: it has every page, every link leads somewhere, and it needs nothing but its node. */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join, posix, resolve } from 'node:path'
import fastify from 'fastify'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { answerErrors } from '../../src/http/errors.ts'
import { helpRoutes } from '../../src/http/help.ts'
import { sidebar } from '../../site/.vitepress/sidebar.js'
import { startTestApp, type TestApp } from '../support/app.ts'
import { describeInBrowser, launchChromium } from '../support/chromium.ts'

const root = resolve(import.meta.dirname, '../..')
const dist = join(root, 'site/dist')
const built = existsSync(dist) ? readdirSync(dist).filter((name) => name.endsWith('.html') && name !== '404.html') : []
const read = (file: string): string => readFileSync(join(dist, file), 'utf8')

/** Values of an attribute, as they stand in the page. */
const valuesOf = (attribute: string, html: string): string[] =>
  [...html.matchAll(new RegExp(`\\s${attribute}="([^"]*)"`, 'g'))].map(([, value = '']) =>
    value.replaceAll('&amp;', '&'),
  )

/** The file that an address of the node is answered with; undefined where the site has none. */
function fileAt(path: string): string | undefined {
  const inside = path.replace(/^\/help\//, '')
  const file = [inside, `${inside}.html`, posix.join(inside, 'index.html')].find(
    (name) => /\.\w+$/.test(name) && existsSync(join(dist, name)),
  )
  return path.startsWith('/help/') ? file : undefined
}

/** Pages of the node that are not of the site. */
const ofTheNode = ['/', '/docs']

function brokenLinks(page: string, html: string): string[] {
  const links = [...valuesOf('href', html), ...valuesOf('src', html)]
  return links.filter((link) => {
    if (/^[a-z]+:/i.test(link) || ofTheNode.includes(link)) return false
    const [path = '', anchor] = link.split('#')
    const file = path === '' ? page : fileAt(path)
    if (file === undefined) return true
    return anchor !== undefined && anchor !== '' && !valuesOf('id', read(file)).includes(decodeURIComponent(anchor))
  })
}

describe('the site', () => {
  it('has each page of the repository', () => {
    const sources = ['docs', '.'].flatMap((folder) =>
      readdirSync(join(root, folder)).filter((name) => name.endsWith('.md')),
    )
    const pages = sources.map((name) => (name === 'README.md' ? 'index' : basename(name, '.md').toLowerCase()))
    expect(built.sort()).toEqual([...pages, 'api-client', 'client-library'].map((name) => `${name}.html`).sort())
  })

  it('names each page in its menu, once', () => {
    const named = sidebar.flatMap(({ items }) =>
      items.map(({ link }) => (link === '/' ? 'index.html' : `${link.slice(1)}.html`)),
    )
    expect(named.sort()).toEqual(built.sort())
  })

  it.each(built)('%s links to what is there, and has no script within', (page) => {
    const html = read(page)
    expect(brokenLinks(page, html)).toEqual([])
    expect(html).not.toMatch(/<script[^>]*>[^<]/)
  })

  it('would be told of a link to nothing', () => {
    const html =
      '<a href="/help/api#no"></a><a href="/help/no"></a><a href="/no"></a><a href="#no"></a><img src="/help/no.png">'
    expect(brokenLinks('index.html', html)).toEqual(['/help/api#no', '/help/no', '/no', '#no', '/help/no.png'])
  })
})

describe('a node', () => {
  let node: TestApp
  beforeAll(async () => {
    node = await startTestApp()
  })
  afterAll(() => node[Symbol.asyncDispose]())

  it('serves it at /help, with a policy that lets nothing in from elsewhere', async () => {
    const begun = await fetch(`${node.url}/help`)
    expect([begun.status, new URL(begun.url).pathname]).toEqual([200, '/help/'])
    expect(begun.headers.get('content-encoding')).toBe('gzip')
    const policy = begun.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self';")
    const page = await fetch(`${node.url}/help/verifying-signatures`)
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(await page.text()).toContain('webhook-signature')
  })

  it('answers a page that is not there with 404 and a page that says so', async () => {
    const answer = await fetch(`${node.url}/help/no-such-page`)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
  })

  describeInBrowser('in a browser', () => {
    let browser: Browser
    beforeAll(async () => {
      browser = await launchChromium()
    })
    afterAll(() => browser.close())

    async function open(width: number) {
      const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme: 'light' })
      onTestFinished(() => context.close())
      context.setDefaultTimeout(60_000)
      const page = await context.newPage()
      const troubles: string[] = []
      page.on('console', (message) => {
        if (message.type() === 'error') troubles.push(message.text())
      })
      page.on('pageerror', (error) => troubles.push(error.message))
      page.on('request', (request) => {
        if (!request.url().startsWith(`${node.url}/`) && !request.url().startsWith('data:'))
          troubles.push(request.url())
      })
      return { page, troubles }
    }

    it('finds what is searched for, in the dark too, and leads back to the web app', async () => {
      const { page, troubles } = await open(1280)
      await page.goto(`${node.url}/help/`)
      await page.getByRole('switch').first().click()
      await page.locator('html.dark').waitFor()
      await page
        .getByRole('button', { name: /search/i })
        .first()
        .click()
      await page.getByRole('searchbox').fill('verify_standard_webhook')
      await page.getByRole('option').first().click()
      await page.getByRole('heading', { name: 'Verifying signatures', level: 1 }).waitFor()
      expect(new URL(page.url()).pathname).toBe('/help/verifying-signatures')
      await page.getByRole('link', { name: 'Web app', exact: true }).first().click()
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
      expect(troubles.filter((text) => !text.includes('401'))).toEqual([])
    })

    it('fits a narrow screen, page by page', async () => {
      const { page, troubles } = await open(360)
      for (const name of built) {
        await page.goto(`${node.url}/help/${name === 'index.html' ? '' : basename(name, '.html')}`)
        await page.getByRole('heading', { level: 1 }).first().waitFor()
        expect(await page.evaluate('document.documentElement.scrollWidth'), name).toBeLessThanOrEqual(360)
      }
      expect(troubles).toEqual([])
    })
  })
})

it('is told of by a node that has no build of it', async () => {
  const app = fastify()
  onTestFinished(() => app.close())
  answerErrors(app)
  await app.register(helpRoutes, { prefix: '/help', folder: 'site/not-built' })
  for (const path of ['/help', '/help/', '/help/delivery']) {
    const { statusCode, body } = await app.inject(path)
    expect([statusCode, body]).toEqual([404, expect.stringContaining('not built on this node')])
  }
})
