/** The samples of the client library's page: they compile under `strict`, and run against a node, in a browser where they are for pages. */

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPages } from '../../client/test/support/pages.ts'
import { startTestApp } from '../support/app.ts'
import { describeInBrowser, launchChromium } from '../support/chromium.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

const root = resolve(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'client/README.md'), 'utf8')

/** The blocks of code below a heading, in order. */
function samplesBelow(heading: string): string[] {
  const [, rest = ''] = page.split(`\n${heading}\n`)
  const [section = ''] = rest.split(/^##+ /m)
  return [...section.matchAll(/^```[jt]s\n(.*?)^```$/gms)].map(([, code = '']) => code)
}

describe('under strict', () => {
  let folder: string
  beforeAll(async () => {
    // Below the repository, where the compiler finds the library.
    folder = await mkdtemp(join(await realpath(join(root, 'node_modules')), '.samples-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  /** The lines of a sample that the compiler refuses. @param before  declares what the sample takes from around it */
  async function compile(before: string, sample: string): Promise<(string | undefined)[]> {
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
    await writeFile(join(folder, 'sample.ts'), `${before}\n${sample}`)
    const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
    const options = [
      '--noEmit',
      '--strict',
      '--target',
      'es2022',
      '--module',
      'nodenext',
      '--types',
      'node',
      '--skipLibCheck',
      '--ignoreConfig',
    ]
    const said = await promisify(execFile)(process.execPath, [tsc, ...options, 'sample.ts'], { cwd: folder }).catch(
      (error: { stdout: string }) => error,
    )
    const lines = `${before}\n${sample}`.split('\n')
    return [...said.stdout.matchAll(/^(?:sample\.ts\((\d+),\d+\): )?(error .*)$/gm)].map(
      ([, line, error]) => lines[Number(line) - 1] ?? error,
    )
  }

  const library = "import { Analytics } from '@postrider/analytics'"

  it('typed events compile but for the one that is marked', async () => {
    const [sample = ''] = samplesBelow('### Typed events')
    const before = `${library}\ndeclare const writeKey: string, endpoint: string`
    const right =
      "analytics.track({ userId: 'user-1', event: 'Order Completed', properties: { orderId: 'o1', total: 5 } })"
    expect(await compile(before, `${sample}${right}`)).toEqual([expect.stringMatching(/ \/\/ does not compile$/)])
  })

  it('receivers compile', async () => {
    const [check = '', ready = '', ...others] = samplesBelow('## Receivers')
    expect(others).toEqual([])
    const request = "declare const body: Buffer, request: import('node:http').IncomingMessage, sharedSecret: string"
    expect(await compile(request, check)).toEqual([])
    const servers = [
      'declare const secret: string',
      "declare const fastify: import('fastify').FastifyInstance",
      "declare const express: { use(path: string, handler: (request: import('node:http').IncomingMessage, response: import('node:http').ServerResponse, next: () => void) => void): void }",
      'declare const Deno: { serve(handler: (request: Request) => Promise<Response>): void }',
    ]
    expect(await compile(servers.join('\n'), ready)).toEqual([])
  })
})

describeInBrowser('the sample for pages', () => {
  it('sends what it calls once the visitor has agreed', async () => {
    await using node = await startTestApp()
    await using receiver = await startReceiver()
    const source = await node.createSource()
    await node.connect([source], [receiver.url])
    const [sample = ''] = samplesBelow('## In a page')
    const html = `<!doctype html><title>A page</title>
      <script type="importmap">{ "imports": { "@postrider/analytics/browser": "/analytics.js" } }</script>
      <script>const writeKey = '${source.writeKey}', endpoint = '${node.url}'</script>
      <script type="module">${sample}</script>`
    const site = await startPages({ '/sample': html })
    const browser = await launchChromium()
    try {
      const page = await browser.newPage()
      const faults: string[] = []
      page.on('pageerror', (error) => faults.push(error.message))
      await page.goto(`${site}/sample`)
      const got = (): Record<string, unknown>[] =>
        receiver.requests.map(({ body }) => JSON.parse(body.toString()) as Record<string, unknown>)
      await until('all three arrive', () => faults.length > 0 || got().length === 3)
      expect(faults).toEqual([])
      const anonymousId = got()[0]?.['anonymousId']
      expect(anonymousId).toEqual(expect.any(String))
      expect(got().sort((one, other) => String(one['type']).localeCompare(String(other['type'])))).toMatchObject([
        { type: 'identify', userId: 'user-1', anonymousId },
        { type: 'page', anonymousId, properties: { path: '/sample', title: 'A page' } },
        { type: 'track', event: 'Video Played', anonymousId },
      ])
    } finally {
      await browser.close()
    }
  })
})
