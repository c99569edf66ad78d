/** Real pages in Chromium: who the visitor is, what is stored of it, and what waits for consent. */

import type { Message } from '@postrider/analytics'
import type { Page } from 'playwright-core'
import { expect, it, onTestFinished, vi } from 'vitest'
import { describeInBrowser, launchChromium } from '../../test/support/chromium.ts'
import { startIngestServer, type IngestServer } from './support/ingest-server.ts'
import { sandboxed, startPages } from './support/pages.ts'

const limitMs = 60_000

interface Scene {
  ingest: IngestServer
  /** Address of a site. */
  site: string
  page: Page
  /** Opens a page of the site, and makes `analytics` there. */
  open: (path: string, options: object) => Promise<void>
  /** Runs a script in the page. */
  run: <Result>(script: string) => Promise<Result>
  /** What arrived, once it is so many messages. */
  arrived: (count: number) => Promise<Message[]>
}

/** A page with the script in its head, before its title. */
const scripted = (endpoint: string): string => `<!doctype html><script src="/client.js"></script>
  <script>
    analytics = new Postrider.Analytics('page-key', { endpoint: '${endpoint}', remember: true, autoPage: true })
  </script>
  <title>Scripted</title>`

async function scene(): Promise<Scene> {
  const ingest = await startIngestServer()
  onTestFinished(() => ingest.stop())
  const site = await startPages({ '/scripted': scripted(ingest.url) })
  const browser = await launchChromium()
  onTestFinished(() => browser.close())
  const page = await browser.newPage()
  return {
    ingest,
    site,
    page,
    async open(path, options) {
      await page.goto(`${site}${path}`)
      await page.evaluate(`(async () => {
        const { Analytics } = await import('${site}/analytics.js')
        globalThis.analytics = new Analytics('page-key', { endpoint: '${ingest.url}', ...${JSON.stringify(options)} })
      })()`)
    },
    run: <Result>(script: string) => page.evaluate<Result>(`(async () => { ${script} })()`),
    async arrived(count) {
      await vi.waitFor(() => expect(ingest.messages().length).toBeGreaterThanOrEqual(count), { timeout: limitMs })
      expect(ingest.messages()).toHaveLength(count)
      return ingest.messages()
    },
  }
}

const named = (messages: Message[], event: string): Message => {
  const found = messages.find((message) => message['event'] === event)
  if (!found) throw new Error(`${event} did not arrive`)
  return found
}

/** What the site has stored in the browser. */
const stored = `return JSON.stringify({ ...localStorage }) + document.cookie`

/** Leaves no room in the storage of the site. */
const fillStorage = `
  for (let size = 2 ** 22; size >= 1; size /= 2) {
    for (let n = 0; ; n++) try { localStorage.setItem('full-' + size + '-' + n, 'x'.repeat(size)) } catch { break }
  }`

describeInBrowser('a visitor who is remembered', () => {
  it('has one anonymous id over pages and calls, and a user id from identify until reset', async () => {
    const { open, run, arrived } = await scene()
    const options = { remember: true }
    await open('/', options)
    await run(`
      analytics.track({ event: 'First' })
      analytics.identify({ userId: 'u1', traits: { plan: 'pro' } })
      await analytics.flush()`)
    await open('/next', options)
    await run(`
      analytics.track({ event: 'Known' })
      analytics.track({ event: 'Of another', userId: 'u2' })
      analytics.track({ event: 'Anonymous', anonymousId: 'a2' })
      analytics.reset()
      analytics.track({ event: 'After' })
      await analytics.flush()`)
    const messages = await arrived(6)
    const anonymousId = named(messages, 'First').anonymousId
    expect(anonymousId).toMatch(/^[0-9a-f-]{36}$/)
    expect(named(messages, 'First')).not.toHaveProperty('userId')
    expect(messages[1]).toMatchObject({ type: 'identify', userId: 'u1', anonymousId })
    expect(named(messages, 'Known')).toMatchObject({ userId: 'u1', anonymousId })
    expect(named(messages, 'Of another')).toMatchObject({ userId: 'u2', anonymousId })
    expect(named(messages, 'Anonymous')).toMatchObject({ anonymousId: 'a2' })
    expect(named(messages, 'Anonymous')).not.toHaveProperty('userId')
    const after = named(messages, 'After')
    expect(after).not.toHaveProperty('userId')
    expect(after.anonymousId).toMatch(/^[0-9a-f-]{36}$/)
    expect(after.anonymousId).not.toBe(anonymousId)
  })

  it('who is another user than before gets an anonymous id of their own, and a wrong id is not remembered', async () => {
    const { open, run, arrived } = await scene()
    await open('/', { remember: true })
    const code = await run<string>(`
      analytics.identify({ userId: 'u1' })
      let code
      try { analytics.identify({ userId: 'bad\\0' }) } catch (error) { code = error.code }
      analytics.track({ event: 'Between' })
      analytics.identify({ userId: 'u2' })
      analytics.track({ event: 'Last' })
      await analytics.flush()
      return code`)
    expect(code).toBe('wrong_type')
    const [first, between, second, last] = await arrived(4)
    expect(first).toMatchObject({ userId: 'u1' })
    expect(between).not.toHaveProperty('userId')
    expect(second).toMatchObject({ userId: 'u2' })
    expect(second?.anonymousId).not.toBe(first?.anonymousId)
    expect(last).toMatchObject({ userId: 'u2', anonymousId: second?.anonymousId })
  })

  it('is the one that analytics.js knew', async () => {
    const { site, page, open, run, arrived } = await scene()
    await page.goto(site)
    await run(`
      localStorage.setItem('ajs_anonymous_id', '"from-analytics-js"')
      localStorage.setItem('ajs_user_id', 'plain')`)
    await open('/', { remember: true })
    await run(`analytics.track({ event: 'Moved' }); await analytics.flush()`)
    expect(await arrived(1)).toMatchObject([{ anonymousId: 'from-analytics-js', userId: 'plain' }])
  })

  it('is remembered in a cookie where the storage is full', async () => {
    const { site, page, open, run, arrived } = await scene()
    await page.goto(site)
    await run(fillStorage)
    for (const path of ['/', '/next']) {
      await open(path, { remember: true })
      await run(`analytics.identify({ userId: 'ü; u=1' }); await analytics.flush()`)
    }
    const [first, second] = await arrived(2)
    expect(first).toMatchObject({ userId: 'ü; u=1' })
    expect(second).toMatchObject({ userId: 'ü; u=1', anonymousId: first?.anonymousId })
    expect(await run(`return document.cookie`)).toContain('ajs_anonymous_id')
    expect(await run(`analytics.reset(); return document.cookie`)).toBe('')
  })

  it('is remembered as long as the page where every touch of the storage throws', async () => {
    const { page, site, open, run, arrived } = await scene()
    await page.goto(site + sandboxed)
    const throws = `try { localStorage.length; return false } catch { try { document.cookie; return false } catch { return true } }`
    expect(await run(throws)).toBe(true)
    await open(sandboxed, { remember: true })
    await run(`
      analytics.identify({ userId: 'u1' })
      analytics.track({ event: 'Sandboxed' })
      analytics.reset()
      analytics.track({ event: 'After' })
      await analytics.flush()`)
    const messages = await arrived(3)
    expect(named(messages, 'Sandboxed')).toMatchObject({ userId: 'u1', anonymousId: messages[0]?.anonymousId })
    expect(named(messages, 'After').anonymousId).not.toBe(messages[0]?.anonymousId)
  })
})

describeInBrowser('automatic page calls', () => {
  it('tell of the page and of each that an app puts in its place, once', async () => {
    const { site, open, run, arrived } = await scene()
    await open('/start?from=mail#top', { remember: true, autoPage: true, flushAt: 1 })
    await run(`
      location.hash = '#middle'
      history.pushState(null, '', '/passing')
      history.replaceState(null, '', '/two?tab=1')
      document.title = 'Two'`)
    await arrived(2)
    await run(`history.replaceState({ scrolled: 1 }, '', '/two?tab=1#below')`)
    await run(`history.back()`)
    await arrived(3)
    await run(`await analytics.close(); history.pushState(null, '', '/closed')`)
    const messages = await arrived(3)
    expect(messages.map(({ type, properties }) => ({ type, ...(properties as object) }))).toEqual([
      { type: 'page', url: `${site}/start?from=mail`, path: '/start', title: 'A page', referrer: '' },
      { type: 'page', url: `${site}/two?tab=1`, path: '/two', title: 'Two', referrer: `${site}/start?from=mail` },
      { type: 'page', url: `${site}/start?from=mail`, path: '/start', title: 'Two', referrer: `${site}/two?tab=1` },
    ])
    expect(new Set(messages.map(({ anonymousId }) => anonymousId)).size).toBe(1)
  })

  it('wait in the head of a page for its title, with the script that a node serves', async () => {
    const { site, page, run, arrived } = await scene()
    await page.goto(`${site}/scripted`)
    await run(`await analytics.flush()`)
    expect(await arrived(1)).toMatchObject([{ type: 'page', properties: { title: 'Scripted', path: '/scripted' } }])
  })

  it('need a visitor who is remembered', async () => {
    const { open } = await scene()
    await expect(open('/', { autoPage: true })).rejects.toThrow('remember must be true where autoPage is')
  })
})

describeInBrowser('consent', () => {
  const options = { remember: true, autoPage: true, awaitConsent: true, flushAt: 1 }

  it('is awaited before anything is stored or sent; then what waited is sent', async () => {
    const { ingest, open, run, arrived } = await scene()
    await open('/', options)
    await run(`
      analytics.track({ event: 'Early' })
      analytics.identify({ userId: 'u1' })
      await analytics.flush()`)
    expect(await run(stored)).toBe('{}')
    expect(ingest.requests).toEqual([])
    await run(`analytics.consent(true); analytics.track({ event: 'Late' }); await analytics.flush()`)
    const messages = await arrived(4)
    expect(messages.map(({ type }) => type)).toEqual(['page', 'track', 'identify', 'track'])
    expect(new Set(messages.map(({ anonymousId }) => anonymousId)).size).toBe(1)
    expect(named(messages, 'Late')).toMatchObject({ userId: 'u1' })
    expect(await run(stored)).toContain(String(messages[0]?.anonymousId))
  })

  it('finds the visitor of an earlier page again, unless it is another user', async () => {
    const { open, run, arrived } = await scene()
    await open('/', options)
    await run(`analytics.identify({ userId: 'u1' }); analytics.consent(true); await analytics.flush()`)
    await open('/next', options)
    await run(
      `analytics.track({ event: 'Again' }); analytics.consent(true); analytics.track({ event: 'Known' }); await analytics.flush()`,
    )
    await open('/other', options)
    await run(`analytics.identify({ userId: 'u2' }); analytics.consent(true); await analytics.flush()`)
    const messages = await arrived(7)
    const ids = messages.map(({ anonymousId }) => anonymousId)
    expect(new Set(ids.slice(0, 5))).toEqual(new Set([ids[0]]))
    expect(named(messages, 'Known')).toMatchObject({ userId: 'u1' })
    expect(messages[6]).toMatchObject({ type: 'identify', userId: 'u2' })
    expect(ids[5]).toBe(ids[6])
    expect(ids[6]).not.toBe(ids[0])
  })

  it('that is refused leaves nothing, of what waited, of earlier pages and of what is called later', async () => {
    const { ingest, open, run, arrived } = await scene()
    await open('/', { remember: true })
    expect(await run(stored)).toContain('ajs_anonymous_id')
    await open('/', options)
    await run(`
      analytics.track({ event: 'Early' })
      analytics.consent(false)
      analytics.track({ event: 'Refused' })
      await analytics.flush()`)
    expect(await run(stored)).toBe('{}')
    expect(ingest.requests).toEqual([])
    // Who changes their mind is heard from then on.
    await run(`analytics.consent(true); analytics.track({ event: 'Late' }); await analytics.flush()`)
    expect(await arrived(1)).toMatchObject([{ event: 'Late' }])
  })

  it('that is withdrawn ends what is under way, and drops what waits', async () => {
    const { ingest, open, run, arrived } = await scene()
    ingest.answers.push('hang')
    await open('/', { remember: true, flushAt: 1 })
    await run(`analytics.track({ event: 'Under way' })`)
    await vi.waitFor(() => expect(ingest.requests).toHaveLength(1), { timeout: limitMs })
    const pending = await run(`
      analytics.track({ event: 'Waiting' })
      analytics.consent(false)
      await analytics.flush()
      return analytics.stats`)
    expect(pending).toEqual({ pending: 0, delivered: 0, dropped: 0 })
    expect(await run(stored)).toBe('{}')
    await run(`analytics.consent(true); analytics.track({ event: 'Later' }); await analytics.flush()`)
    expect(await arrived(1)).toMatchObject([{ event: 'Later' }])
    expect(ingest.requests.slice(1).flatMap(({ body }) => body.batch)).toMatchObject([{ event: 'Later' }])
    expect(await run(`return analytics.stats`)).toEqual({ pending: 0, delivered: 1, dropped: 0 })
  })
})
