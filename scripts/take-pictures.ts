/** Takes the pictures of the documentation from a real run, each light and dark: `npx tsx scripts/take-pictures.ts`, after `npm run build`.
 *  Needs Chromium or Chrome on the PATH (or its path in CHROMIUM); writes `docs/images/`. */

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { chromium, type Locator, type Page } from 'playwright-core'
import { builtCommand } from '../test/support/built-command.ts'

const root = resolve(import.meta.dirname, '..')
const images = join(root, 'docs/images')
const ports = { PORT: '8080', POSTRIDER_TEMPORAL_PORT: '7233', POSTRIDER_TEMPORAL_UI_PORT: '8233' }

/** Finding or building a Temporal server may take minutes. */
const startLimitMs = 600_000
const stepLimitMs = 30_000

interface Node {
  process: ChildProcess
  /** All that it printed so far. */
  output: () => string
  url: string
  token: string
  writeKey: string
}

async function startNode(dataDir: string): Promise<Node> {
  const child = spawn(process.execPath, [builtCommand, 'start'], {
    env: { ...process.env, ...ports, POSTRIDER_DATA_DIR: dataDir, POSTRIDER_RETRY_INITIAL: '20s', LOG_LEVEL: 'error' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  await until(() => output.includes('Stop with Ctrl-C.'), startLimitMs, 'the node did not start')
  const [, url = '', token = ''] = /(http:\S+)\/login#token=(\S+)/.exec(output) ?? []
  const writeKey = /-u (\w+):/.exec(output)?.[1] ?? ''
  return { process: child, output: () => output, url, token, writeKey }
}

async function until(isSo: () => boolean, limitMs: number, complaint: string): Promise<void> {
  const deadline = Date.now() + limitMs
  while (!isSo()) {
    if (Date.now() > deadline) throw new Error(complaint)
    await sleep(100)
  }
}

/** An endpoint that takes everything, and one below `/crm` that is out of order. */
async function startEndpoints(): Promise<Server> {
  const server = createServer((request, response) => {
    request.resume()
    if (request.url?.startsWith('/crm') === true) response.writeHead(503).end('{"error":"maintenance until 14:00"}')
    else response.writeHead(200).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

/** Sources, destinations and events as a small shop has them. */
async function fill({ url, token, writeKey }: Node, endpoints: string): Promise<void> {
  const call = async <Answer>(path: string, body: unknown, key = `Bearer ${token}`): Promise<Answer> => {
    const headers = { authorization: key, 'content-type': 'application/json' }
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as Answer
  }
  const track = (key: string, body: unknown) =>
    call('/v1/track', body, `Basic ${Buffer.from(`${key}:`).toString('base64')}`)

  await track(writeKey, { userId: 'u1', event: 'Hello' })
  const shop = await call<{ id: string; writeKey: string }>('/api/v1/sources', { name: 'Web shop' })
  const destination = (name: string, path: string) =>
    call('/api/v1/destinations', {
      name,
      type: 'webhooks',
      sourceIds: [shop.id],
      settings: { sharedSecret: 'a-secret-of-the-shop', webhooks: [{ url: `${endpoints}${path}` }] },
    })
  await destination('Data warehouse', '/warehouse')
  for (const user of ['ada', 'grace', 'linus', 'margaret', 'ken'])
    for (const event of ['Product Viewed', 'Product Added', 'Order Completed'])
      await track(shop.writeKey, { userId: user, event, properties: { sku: 'P-17', price: 19.5 } })
  await destination('CRM', '/crm/events')
  await track(shop.writeKey, {
    userId: 'ada',
    event: 'Plan Upgraded',
    messageId: 'order-1815',
    properties: { plan: 'pro' },
  })
  await track(shop.writeKey, { userId: 'grace', event: 'Coupon Used', properties: { coupon: 'SPRING' } })
}

const schemes = ['light', 'dark'] as const
type Scheme = (typeof schemes)[number]

/** The picture of that name for readers whose system is light or dark. */
const fileOf = (name: string, scheme: Scheme): string => join(images, `${name}${scheme === 'dark' ? '-dark' : ''}.png`)

const escape = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** What the node printed, as a terminal shows it. */
const terminal = (text: string): string =>
  `<!doctype html><style>
  body { margin: 0; background: #f6f7fb; color: #2a2e42 }
  div { display: inline-block; padding: 20px 28px 12px; font: 14px/1.5 'DejaVu Sans Mono', monospace; white-space: pre }
  span { color: #6b7190 }
  @media (prefers-color-scheme: dark) { body { background: #1d1f2b; color: #dfe2ee } span { color: #8f95b2 } }
  </style><div><span>$ </span>npm start\n${escape(text)}</div>`

/** What the node printed until the receiver had the first event. */
async function firstMinute(node: Node): Promise<string> {
  await until(() => node.output().includes('signature valid'), stepLimitMs, 'nothing arrived at the receiver')
  const lines = node.output().trimEnd().split('\n')
  const first = lines.findIndex((line) => line.includes('signature valid'))
  return lines
    .slice(0, first + 1)
    .join('\n')
    .replaceAll(node.token, '…')
}

async function takePictures(page: Page, node: Node): Promise<void> {
  /** @param open  for pages that look how light the system is only as they open */
  const shoot = async (name: string, open?: () => Promise<void>, part: Page | Locator = page): Promise<void> => {
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme })
      await open?.()
      await page.waitForTimeout(1_000)
      await part.screenshot({ path: fileOf(name, colorScheme) })
    }
    await page.emulateMedia({ colorScheme: 'light' })
  }
  const open = async (path: string, sight: string): Promise<void> => {
    await page.goto(node.url + path)
    await page.getByText(sight).first().waitFor()
    await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' })
  }
  await page.goto(`${node.url}/login#token=${node.token}`)
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await open('/deliveries', 'Plan Upgraded')
  await shoot('deliveries')
  await page.getByRole('link', { name: 'Plan Upgraded' }).click()
  await page.getByText('HTTP 503').first().waitFor()
  await shoot('delivery')
  const temporalUi = await page.getByRole('link', { name: 'Temporal UI' }).getAttribute('href')
  await open('/sources', 'Web shop')
  await page.getByRole('link', { name: 'Web shop' }).click()
  await page.getByText('Live', { exact: true }).waitFor()
  await shoot('source')
  await open('/?range=1h', 'See what waits')
  await shoot('overview')
  await shoot('temporal-ui', async () => {
    await page.goto(temporalUi ?? '')
    await page.getByText('deliverEvent').first().waitFor()
    await page.waitForTimeout(2_000)
  })
  const first = terminal(await firstMinute(node))
  await shoot('terminal', () => page.setContent(first), page.locator('div'))
}

function findBrowser(): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const names = ['chromium', 'chromium-browser', 'google-chrome']
  const found = [process.env['CHROMIUM'] ?? '', ...folders.flatMap((folder) => names.map((name) => join(folder, name)))]
  const path = found.find((candidate) => candidate !== '' && existsSync(candidate))
  if (path === undefined) throw new Error('install Chromium or Chrome, or set CHROMIUM to its path')
  return path
}

const dataDir = await mkdtemp(join(tmpdir(), 'postrider-pictures-'))
await mkdir(images, { recursive: true })
const endpoints = await startEndpoints()
const node = await startNode(dataDir)
const browser = await chromium.launch({ executablePath: findBrowser(), args: ['--no-sandbox', '--disable-gpu'] })
try {
  await fill(node, `http://127.0.0.1:${(endpoints.address() as AddressInfo).port}`)
  const page = await browser.newPage({ viewport: { width: 1200, height: 760 }, colorScheme: 'light' })
  page.setDefaultTimeout(stepLimitMs)
  await takePictures(page, node)
} finally {
  await browser.close()
  node.process.kill('SIGTERM')
  await once(node.process, 'exit')
  endpoints.close()
  await rm(dataDir, { recursive: true, force: true })
}
