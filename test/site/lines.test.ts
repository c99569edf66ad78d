/** The lines of the pages that are meant for a shell: each runs here as it stands, but for the address, or in a test that is named below. */

import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openShell, type Shell } from '../cli/command.ts'
import { adminToken, startTestApp, type TestApp } from '../support/app.ts'
import { startMailServer, type MailServer } from '../support/mail-server.ts'
import { linesOf, pages } from '../support/page-lines.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'

const root = resolve(import.meta.dirname, '../..')

/** Lines that run in other tests, or are for who publishes. */
const elsewhere: [RegExp, where: string][] = [
  [/^npm (ci|test|run)\b|^npx vitest/, '.ci/run'],
  [/^npm (publish|pkg set)/, 'nowhere: it publishes'],
  [/^npx postrider/, 'test/site/samples.test.ts'],
  [/cli\.tgz/, 'test/cli/alone.test.ts'],
  [/client\.tgz/, 'client/test/package.test.ts'],
  [/api\.tgz/, 'test/api/package.test.ts'],
  [/^postrider login/, 'test/cli/machine.test.ts'],
  [/^postrider listen/, 'test/cli/deliveries.test.ts'],
  [/^postrider complete/, 'test/cli/completion.test.ts'],
  [/^docker (compose|volume)|^deploy\/|^cat secrets\//, 'test/deploy.test.ts'],
  [/^helm|^kubectl/, 'test/topology/helm-chart.test.ts'],
  [/^temporal operator/, 'test/temporal/prepare-namespace.test.ts'],
  [/^temporal workflow show/, 'test/http/codec.test.ts'],
]

const here = pages
  .map((page) => ({ page, lines: linesOf(page).filter((line) => !elsewhere.some(([those]) => those.test(line))) }))
  .filter(({ lines }) => lines.length > 0)

let node: TestApp
let shell: Shell
let receiver: Receiver
let mail: MailServer
let ids: { destination: string; audience: string }

beforeAll(async () => {
  node = await startTestApp()
  shell = await openShell(node.url)
  receiver = await startReceiver()
  mail = await startMailServer()
  const source = await node.createSource('Website')
  const destination = await node.connect([source], [receiver.url], { name: 'CRM' })
  const body = { name: 'Members', destinationIds: [destination.id], membership: { kind: 'push' } }
  const audience = await node.api<{ id: string }>('POST', '/audiences', body)
  ids = { destination: destination.id, audience: audience.body.id }
})
afterAll(async () => {
  await shell[Symbol.asyncDispose]()
  await receiver.close()
  await mail[Symbol.asyncDispose]()
  await node[Symbol.asyncDispose]()
})

/** A line, led to what is there. */
const led = (line: string): string =>
  line
    .replaceAll(/http:\/\/(localhost|127\.0\.0\.1):8080/g, node.url)
    .replaceAll(/\bcurl /g, 'curl --silent --show-error --fail-with-body ')
    // A password would go through TLS alone, which the server here has not.
    .replaceAll('postrider:password@mail.example.com:587', mail.host)
    .replaceAll('dst_…', ids.destination)
    .replaceAll('aud_…', ids.audience)

it('finds the lines, and those that run elsewhere', () => {
  expect(here.map(({ page }) => page)).toEqual(
    expect.arrayContaining([
      'docs/alerts.md',
      'docs/api.md',
      'docs/audiences.md',
      'docs/delivery.md',
      'docs/filters.md',
    ]),
  )
  const all = pages.flatMap(linesOf)
  for (const [those, where] of elsewhere) expect([where, all.some((line) => those.test(line))]).toEqual([where, true])
})

describe('lines of', () => {
  it.each(here)('$page', async ({ page, lines }) => {
    const example = /^```json\n(.*?)^```/ms.exec(readFileSync(join(root, page), 'utf8'))?.[1] ?? '{}'
    await mkdir(shell.folder, { recursive: true })
    await writeFile(join(shell.folder, 'orders.yaml'), example)
    // One shell for the page: a line may set what a later one needs.
    const begin = [`set -e; ID=${ids.destination} POSTRIDER_ADMIN_TOKEN=${adminToken}`]
    const { code, stderr, stdout } = await shell.sh(
      [...begin, ...lines.map(led)].join('\n').replaceAll(/^(postrider apply (?!.*dry-run).*)$/gm, '$1 --yes'),
    )
    expect({ code, stderr: code === 0 ? '' : stderr, stdout: code === 0 ? '' : stdout }).toEqual({
      code: 0,
      stderr: '',
      stdout: '',
    })
  })
})
