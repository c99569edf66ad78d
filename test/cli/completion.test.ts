/** What a shell completes, in a bash at a terminal. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { adminToken, startTestApp, type TestApp } from '../support/app.ts'
import { commandInTest } from '../support/built-command.ts'
import { until } from '../support/wait.ts'

let node: TestApp
let folder: string

beforeAll(async () => {
  node = await startTestApp()
  folder = await mkdtemp(join(tmpdir(), 'postrider-completion-'))
  await writeFile(join(folder, 'new settings.yaml'), '')
  const source = await node.createSource('Website: main')
  for (const name of ['My Destination', 'Odd $(touch pwned)', `It's "$5"`, ':later', 'Two\nlines'])
    await node.api('POST', '/destinations', {
      ...{ name, type: 'webhooks', sourceIds: [source.id] },
      settings: { webhooks: [{ url: 'https://example.com/hook' }] },
    })
  await node.api('POST', '/audiences', { name: 'VIP' })
})
afterAll(async () => {
  await node[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

/** What the command is given when this is typed, a tab where the sign is.
 *  @param address  of the node */
async function given(typed: string, address = node.url): Promise<string> {
  const call = [process.execPath, ...commandInTest].map((word) => `'${word}'`).join(' ')
  const script = [
    // Only the questions for completions are real: words that are run are shown as they arrive.
    `postrider() { if [ "$1" = complete ]; then ${call} "$@"; else printf '<%s>' "$@"; echo "end"; fi; }`,
    'source <(postrider complete bash)',
    "stty cols 250; PS1='ready> '",
  ]
  await writeFile(join(folder, 'rc'), script.join('\n'))
  const child = spawn('script', ['-qec', 'bash --noprofile --rcfile rc -i', '/dev/null'], {
    cwd: folder,
    env: {
      ...{ PATH: process.env['PATH'], HOME: folder, TERM: 'dumb' },
      ...{ POSTRIDER_ADDRESS: address, POSTRIDER_ADMIN_TOKEN: adminToken },
    },
  })
  const ended = once(child, 'close')
  try {
    let shown = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text))
    await until('the shell is ready', () => shown.includes('ready> '))
    child.stdin.write(`${typed.replace('⇥', '\t')}\r`)
    return await until('the line is run', () => /^(<.*>)end/m.exec(shown)?.[1])
  } finally {
    child.kill('SIGKILL')
    await ended
  }
}

it.each([
  ['postrider sourc⇥ show', '<sources><show>'],
  ['postrider destinations show My\\ De⇥', '<destinations><show><My Destination>'],
  ['postrider destinations show "My De⇥', '<destinations><show><My Destination>'],
  ['postrider audiences create A --destination=My⇥', '<audiences><create><A><--destination=My Destination>'],
  ['postrider listen Website:⇥', '<listen><Website: main>'],
  ['postrider audiences upload VI⇥', '<audiences><upload><VIP>'],
])('completes names: %s', async (typed, words) => {
  expect(await given(typed)).toBe(words)
})

it.each([
  ['Od⇥', 'Odd $(touch pwned)'],
  ['"Od⇥', 'Odd $(touch pwned)'],
  ["'Od⇥", 'Odd $(touch pwned)'],
  ['It⇥', `It's "$5"`],
  ['"It⇥', `It's "$5"`],
  ["'It⇥", `It's "$5"`],
  ['":la⇥', ':later'],
])('completes what a name is, and does not run it: %s', async (typed, name) => {
  expect(await given(`postrider destinations show ${typed}`)).toBe(`<destinations><show><${name}>`)
  await expect(access(join(folder, 'pwned'))).rejects.toThrow('ENOENT')
})

it('completes ids of endpoints', async () => {
  expect(await given('postrider deliveries redeliver --only-endpoint ep⇥')).toMatch(/<--only-endpoint><ep_?\w*>$/)
})

it.each([
  ['postrider apply new⇥', '<apply><new settings.yaml>'],
  ['postrider audiences upload VIP new⇥', '<audiences><upload><VIP><new settings.yaml>'],
  ['postrider destinations update A --filter new⇥', '<destinations><update><A><--filter><new settings.yaml>'],
])('completes files: %s', async (typed, words) => {
  expect(await given(typed)).toBe(words)
})

it('says nothing without a node', async () => {
  expect(await given('postrider destinations show My⇥', 'http://127.0.0.1:1')).toBe('<destinations><show><My>')
})
