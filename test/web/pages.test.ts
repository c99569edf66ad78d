import type { Request } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Audience } from '../../src/schemas/audience.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { describeInBrowser, seriousFindings, signIn, startBrowser, type TestBrowser } from './browser.ts'

/** Compressed script of the first page, in bytes. */
const maxFirstLoadBytes = 300_000

describeInBrowser('every page', () => {
  let node: TestApp
  let browser: TestBrowser
  let receiver: Receiver
  let paths: string[]
  let audiencePath: string
  beforeAll(async () => {
    node = await startTestApp()
    browser = await startBrowser()
    receiver = await startReceiver()
    const source = await node.createSource('Website')
    const destination = await node.connect([source], [receiver.url], { sharedSecret: 'secret' })
    await node.connect([source], ['http://127.0.0.1:9/nobody-listens'])
    const { body: audience } = await node.api<Audience>('POST', '/audiences', { name: 'Big Spenders' })
    audiencePath = `/audiences/${audience.id}`
    await node.api('POST', `${audiencePath}/members`, { add: ['ada', { userId: 'grace', traits: { plan: 'pro' } }] })
    await node.api('POST', '/tokens', { name: 'CI', role: 'viewer' })
    await node.post('/track', source.writeKey, { userId: 'u1', event: 'Order Completed', messageId: 'm-1' })
    await receiver.received(1)
    paths = [
      '/',
      '/catalog',
      '/catalog/webhooks',
      '/sources',
      `/sources/${source.id}`,
      '/destinations',
      `/destinations/${destination.id}`,
      '/deliveries',
      `/deliveries/${encodeURIComponent(`event/${source.id}/m-1`)}`,
      '/audiences',
      audiencePath,
      '/settings',
      '/settings?tab=tokens',
      '/settings?tab=audit',
      '/no-such-page',
    ]
  })
  afterAll(async () => {
    await receiver.close()
    await browser[Symbol.asyncDispose]()
    await node[Symbol.asyncDispose]()
  })

  const looks = [
    { name: 'wide and light', width: 1280, colorScheme: 'light' },
    { name: '375 px wide and dark', width: 375, colorScheme: 'dark' },
  ] as const

  it.each(looks)('is accessible, fits and logs no error: $name', { timeout: 240_000 }, async (look) => {
    const { page, errors } = await browser.open(look)
    await page.goto(`${node.url}/login`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    expect(await seriousFindings(page), '/login').toEqual([])
    // Asking for the session of nobody is answered with 401, which the browser logs.
    errors.length = 0
    await signIn(page, node.url)
    for (const path of paths) {
      await page.goto(node.url + path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.waitForFunction(() => document.querySelector('[aria-busy="true"]') === null)
      expect(await seriousFindings(page), path).toEqual([])
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
      expect(overflow, `${path} is wider than the window`).toBeLessThanOrEqual(0)
      const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor)
      expect(background === 'rgb(255, 255, 255)', path).toBe(look.colorScheme === 'light')
    }
    expect(errors).toEqual([])
  })

  it('finds members of an audience by the beginning of their user ids', async () => {
    const { page } = await browser.open()
    await signIn(page, node.url)
    await page.goto(node.url + audiencePath)
    const members = page.getByRole('region', { name: 'Members' })
    await members.getByText('ada').waitFor()
    await page.getByLabel('User id begins with').fill('gr')
    await members.getByText('ada').waitFor({ state: 'detached' })
    await members.getByRole('row', { name: /grace.*"plan":"pro"/ }).waitFor()
    await page.getByLabel('User id begins with').fill('nobody')
    await page.getByText('No member has such a user id.').waitFor()
  })

  it('renames an audience, and asks which trait to go on with', async () => {
    const { page } = await browser.open()
    await signIn(page, node.url)
    await page.goto(node.url + audiencePath)
    await page.getByRole('textbox', { name: 'Name' }).fill('Best Customers')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('button', { name: 'Keep big_spenders' }).click()
    await page.getByRole('heading', { name: 'Best Customers', level: 1 }).waitFor()
    const { body } = await node.api<Audience>('GET', audiencePath)
    expect(body).toMatchObject({ name: 'Best Customers', key: 'big_spenders' })
  })

  it('loads less than 300 KB of script first, and runs none that stands in a page', async () => {
    const { page } = await browser.open()
    const scriptRequests: Request[] = []
    page.on('requestfinished', (request) => {
      if (request.resourceType() === 'script') scriptRequests.push(request)
    })
    await signIn(page, node.url)
    await page.getByText('What became of it').waitFor()
    const sizes = await Promise.all(scriptRequests.map((request) => request.sizes()))
    const loaded = sizes.reduce((total, { responseBodySize }) => total + responseBodySize, 0)
    expect(loaded).toBeGreaterThan(50_000)
    expect(loaded).toBeLessThan(maxFirstLoadBytes)

    const response = await page.goto(`${node.url}/deliveries`)
    const policy = response?.headers()['content-security-policy'] ?? ''
    const scripts = policy.split(';').find((directive) => directive.startsWith('script-src'))
    expect(scripts).toBe("script-src 'self'")
    expect(policy).toContain("default-src 'none'")
    await page.evaluate(() => {
      const script = document.createElement('script')
      script.textContent = 'window.injected = true'
      document.body.append(script)
    })
    expect(await page.evaluate(() => 'injected' in window)).toBe(false)
  })

  it('answers programs that ask for a wrong path with 404, not with a page', async () => {
    for (const path of ['/api/v1/nothing', '/nothing', '/assets/nothing.js']) {
      const response = await fetch(node.url + path, { headers: { accept: 'application/json' } })
      expect(response.status, path).toBe(404)
      expect(await response.json(), path).toMatchObject({ success: false, code: 'not_found' })
    }
  })
})
