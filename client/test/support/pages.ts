/** A site whose pages can load the built library from `/analytics.js`. */

import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { onTestFinished } from 'vitest'

/** @returns its address; it is closed when the test is over */
export async function startPages(): Promise<string> {
  const library = readFileSync(resolve(import.meta.dirname, '../../dist/esm/browser.js'))
  const server = createServer((request, response) => {
    const isScript = request.url === '/analytics.js'
    response.setHeader('Content-Type', isScript ? 'text/javascript' : 'text/html')
    response.end(isScript ? library : '<!doctype html><title>A page</title>')
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
