import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Request } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Audience } from '../../../src/schemas/audience.ts'
import { startReceiver, type Receiver } from '../../support/receiver.ts'
import { narrowAndDark, seriousFindings, show, signIn, wideAndDark, wideAndLight, type WebTest } from '../browser.ts'

/** Compressed scripts and styles of the first page, in bytes: 20 KB less than a page may have. */
const maxFirstLoadBytes = 280_000

/** All that a page loads, compressed, in bytes. */
const maxPageBytes = 300_000

export const everyPage = (web: WebTest) =>
  describe('every page', () => {
    let receiver: Receiver
    let paths: string[]
    beforeAll(async () => {
      receiver = await startReceiver()
      const source = await web.node.createSource('Website')
      const destination = await web.node.connect([source], [receiver.url], { sharedSecret: 'secret' })
      await web.node.connect([source], ['http://127.0.0.1:9/nobody-listens'])
      const { body: audience } = await web.node.api<Audience>('POST', '/audiences', { name: 'Big Spenders' })
      await web.node.api('POST', `/audiences/${audience.id}/members`, {
        add: ['ada', { userId: 'grace', traits: { plan: 'pro' } }],
      })
      await web.node.api('POST', '/tokens', { name: 'CI', role: 'viewer' })
      await web.node.post('/track', source.writeKey, { userId: 'u1', event: 'Order Completed', messageId: 'm-1' })
      await web.node.post('/track', source.writeKey, { userId: 'u1', messageId: 'refused' })
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
        '/turned-away',
        '/alerts',
        '/audiences',
        `/audiences/${audience.id}`,
        '/deletion-requests',
        '/settings',
        '/settings?tab=tokens',
        '/settings?tab=audit',
        '/no-such-page',
      ]
    })
    afterAll(async () => {
      await receiver.close()
    })

    const looks = [wideAndLight, wideAndDark, narrowAndDark]

    it('is looked at here, every one', () => {
      const router = readFileSync(resolve(import.meta.dirname, '../../../web/src/router.tsx'), 'utf8')
      const routes = [...router.matchAll(/^ {2}path: '(.+)',$/gm)].map(([, path = '']) => path)
      expect(routes.length).toBeGreaterThan(10)
      const visited = [...paths, '/login'].map((path) => path.split('?')[0] ?? '')
      for (const route of routes) {
        const pattern = new RegExp(`^${route.replace(/\$\w+/, '[^/]+')}$`)
        expect(
          visited.some((path) => pattern.test(path)),
          route,
        ).toBe(true)
      }
    })

    it('is accessible, fits and logs no error, wide or narrow, light or dark', { timeout: 240_000 }, async () => {
      const { page, errors } = await web.open()
      // The look of the page before comes first, so that every other page is loaded narrow and dark.
      const order = [...looks]
      const check = async (path: string): Promise<void> => {
        await page.goto(web.node.url + path)
        await page.getByRole('heading', { level: 1 }).waitFor()
        await page.waitForFunction(() => document.querySelector('[aria-busy="true"]') === null)
        for (const look of order.reverse()) {
          await show(page, look)
          expect(await seriousFindings(page), `${path} ${look.name}`).toEqual([])
          const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
          expect(overflow, `${path} is wider than the window`).toBeLessThanOrEqual(0)
          const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor)
          expect(background === 'rgb(255, 255, 255)', path).toBe(look.colorScheme === 'light')
        }
      }
      await check('/login')
      // Asking for the session of nobody is answered with 401, which the browser logs.
      errors.length = 0
      await signIn(page, web.node.url)
      for (const path of paths) await check(path)
      expect(errors).toEqual([])
    })

    it('has less than 300 KB each: its page, scripts, styles and answers', { timeout: 240_000 }, async () => {
      const sizes: Record<string, number> = {}
      for (const path of paths) {
        const { page } = await web.open({ signedInTo: web.node.url })
        const requests: Request[] = []
        page.on('requestfinished', (request) => requests.push(request))
        await page.goto(web.node.url + path)
        await page.getByRole('heading', { level: 1 }).waitFor()
        await page.waitForLoadState('networkidle')
        const all = await Promise.all(requests.map((request) => request.sizes()))
        sizes[path] = all.reduce((total, { responseBodySize }) => total + responseBodySize, 0)
        await page.context().close()
      }
      expect(Object.entries(sizes).filter(([, size]) => size < 50_000 || size > maxPageBytes)).toEqual([])
    })

    it('loads less than 280 KB of scripts and styles first, and runs none that stands in a page', async () => {
      const { page } = await web.open()
      const fileRequests: Request[] = []
      page.on('requestfinished', (request) => {
        if (['script', 'stylesheet'].includes(request.resourceType())) fileRequests.push(request)
      })
      await signIn(page, web.node.url)
      // The chart comes last.
      await page.locator('.uplot canvas').first().waitFor()
      const sizes = await Promise.all(fileRequests.map((request) => request.sizes()))
      const loaded = sizes.reduce((total, { responseBodySize }) => total + responseBodySize, 0)
      expect(loaded).toBeGreaterThan(50_000)
      expect(loaded).toBeLessThan(maxFirstLoadBytes)

      const response = await page.goto(`${web.node.url}/deliveries`)
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

    it('asks for its first rows beside the session, not behind it', async () => {
      for (const [path, question] of [
        ['/deliveries', '/api/v1/deliveries?'],
        ['/', '/api/v1/overview?'],
      ] as const) {
        const { page } = await web.open({ signedInTo: web.node.url })
        const isAsked = page.waitForRequest((request) => request.url().includes(question))
        await page.route('**/api/v1/session', async (route) => {
          await isAsked
          await route.continue()
        })
        await page.goto(web.node.url + path)
        await page.getByRole('heading', { level: 1 }).waitFor()
      }
    })

    it('draws its chart with round steps, and a date where the day is not plain', async () => {
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.addInitScript(() => {
        const drawn: string[] = []
        Object.assign(globalThis, { drawn })
        // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its canvas below
        const draw = CanvasRenderingContext2D.prototype.fillText
        CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
          drawn.push(text)
          draw.call(this, text, ...place)
        }
      })
      for (const range of ['1h', '24h', '7d']) {
        await page.goto(`${web.node.url}/?range=${range}`)
        await page.locator('.uplot canvas').waitFor()
        await page.getByText(/^Times in [A-Z]/).waitFor()
        const labels = await page.evaluate(() => (globalThis as unknown as { drawn: string[] }).drawn)
        expect(
          labels.filter((label) => /^\d{1,2} [A-Z][a-z]{2}$/.test(label)),
          range,
        ).not.toEqual([])
        const times = labels.filter((label) => label.includes(':'))
        expect(
          times.every((time) => /:[0-5][05]$/.test(time)),
          `${range}: ${times.join()}`,
        ).toBe(true)
        const counts = labels.filter((label) => /^[\d,]+$/.test(label)).map((label) => Number(label.replace(',', '')))
        expect(counts).toContain(0)
        const step = Math.min(...counts.filter((count) => count > 0))
        expect(
          counts.every((count) => Number.isInteger(count) && count % step === 0),
          `${range}: ${counts.join()}`,
        ).toBe(true)
      }
    })

    it('answers programs that ask for a wrong path with 404, not with a page', async () => {
      for (const path of ['/api/v1/nothing', '/nothing', '/assets/nothing.js']) {
        const response = await fetch(web.node.url + path, { headers: { accept: 'application/json' } })
        expect(response.status, path).toBe(404)
        expect(await response.json(), path).toMatchObject({ success: false, code: 'not_found' })
      }
    })
  })
