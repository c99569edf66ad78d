/** A site whose pages can load the built library, from `/analytics.js` as a module and from `/client.js` as a script. */

import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { onTestFinished } from 'vitest'

const built = (file: string): Buffer => readFileSync(resolve(import.meta.dirname, '../../dist', file))

/** Below this path a page is in a sandbox: every touch of its storage and cookies throws. */
export const sandboxed = '/sandboxed'

/** @param pages  HTML of pages that are not like the others, by path
 *  @returns its address; it is closed when the test is over */
export async function startPages(pages: Record<string, string> = {}): Promise<string> {
  const scripts = new Map([
    ['/analytics.js', built('esm/browser.js')],
    ['/client.js', built('script.js')],
  ])
  const server = createServer(({ url = '/' }, response) => {
    const script = scripts.get(url)
    response.setHeader('Content-Type', script ? 'text/javascript' : 'text/html')
    // A page of a sandbox is of another origin than its site.
    response.setHeader('Access-Control-Allow-Origin', '*')
    if (url.startsWith(sandboxed)) response.setHeader('Content-Security-Policy', 'sandbox allow-scripts')
    response.end(script ?? pages[url] ?? '<!doctype html><title>A page</title>')
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
