/** A real browser, where one is installed. */

import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { chromium, type Browser } from 'playwright-core'
import { describe } from 'vitest'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome', 'chrome.exe']
const places = ['/Applications/Google Chrome.app/Contents/MacOS/Google Chrome']

/** Path of a Chromium or Chrome that is installed here. */
function findBrowser(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const candidates = [...folders.flatMap((folder) => names.map((name) => join(folder, name))), ...places]
  return candidates.find((path) => existsSync(path))
}

const executablePath = findBrowser()
if (executablePath === undefined)
  console.warn('No Chromium or Chrome is installed here: the browser tests are skipped.')

/** Browser tests: skipped, and counted so, where there is no browser. */
export const describeInBrowser = describe.skipIf(executablePath === undefined)

/** Quiet, and without a sandbox: tests may run as root in a container. */
const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-quic',
  '--no-first-run',
  // Such names are this machine, to a browser as any other that is reached by plain HTTP.
  '--host-resolver-rules=MAP *.test 127.0.0.1',
]

export const launchChromium = (): Promise<Browser> => chromium.launch({ executablePath: executablePath ?? '', args })
