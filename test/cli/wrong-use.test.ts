/** Command lines with a mistake in them: each is told by a sentence that says what would be right, and by its exit code. */

import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { openShell, type Shell } from './command.ts'

/** Command lines that run at a time. */
const atATime = 4

let node: TestApp
let shell: Shell

beforeAll(async () => {
  node = await startTestApp()
  shell = await openShell(node.url)
  const source = await node.createSource('Website')
  await node.connect([source], ['http://127.0.0.1:9/hook'], { name: 'CRM' })
  const bare = { name: 'Bare', type: 'webhooks', sourceIds: [], settings: { webhooks: [] } }
  await node.api('POST', '/destinations', bare)
  await node.api('POST', '/audiences', { name: 'Members', membership: { kind: 'push' } })
  const settings = { kind: 'slack', url: 'http://127.0.0.1:9/slack' }
  await node.api('POST', '/alert-channels', { name: 'Ops', settings })
  await mkdir(join(shell.folder, 'folder.csv'))
  await writeFile(join(shell.folder, 'text.yaml'), '\nThis is\nno YAML: at all: or\n')
})
afterAll(async () => {
  await shell[Symbol.asyncDispose]()
  await node[Symbol.asyncDispose]()
})

const toCrm = 'destinations create New --source Website --url http://127.0.0.1:9/hook'

const mistakes: [line: string, code: number, said: string | RegExp][] = [
  // What is not there.
  ['sources show Nope', 5, 'no source has the id or name Nope; see: postrider sources list'],
  ['destinations pause Nope', 5, 'no destination has the id or name Nope; see: postrider destinations list'],
  ['audiences sync Nope', 5, 'no audience has the id or name Nope; see: postrider audiences list'],
  ['alerts test-channel Nope', 5, 'no channel has the id or name Nope; see: postrider alerts channels'],
  ['tokens revoke Nope', 5, 'no token has the id or name Nope; see: postrider tokens list'],
  ['profiles use nope', 5, 'there is no profile nope; see: postrider profiles list'],
  ['deliveries show nope', 5, 'No delivery has the id nope.'],
  ['deletion-requests show nope', 5, 'No deletion request has the id nope.'],
  ['alerts mute nope 2h', 5, 'No alert has the id nope.'],
  // Tokens.
  [
    'sources list --token wrong',
    4,
    /^The token is not known: .*\. Give it with --token or POSTRIDER_ADMIN_TOKEN, or save it with: postrider login$/,
  ],
  // What is missing, or too much.
  ['sources create', 2, "missing required argument 'name'; see: postrider sources create --help"],
  ['sources show My site', 2, /^too many arguments for 'show'.*; see: postrider sources show --help$/],
  [
    'alerts add-channel X',
    2,
    "required option '--kind <kind>' not specified; see: postrider alerts add-channel --help",
  ],
  ['send track --event', 2, "option '--event <name>' argument missing; see: postrider send --help"],
  ['sources list --colour', 2, "unknown option '--colour'; see: postrider sources list --help"],
  ['sources lisst', 2, /^unknown command 'lisst'\n\(Did you mean list\?\)$/],
  ['nonsense', 2, "unknown command 'nonsense'; see: postrider --help"],
  ['complete', 2, "missing required argument 'shell'; see: postrider --help"],
  [
    'complete csh',
    2,
    /^command-argument value 'csh' is invalid for argument 'shell'\. Allowed choices are zsh, bash, fish, powershell\.$/,
  ],
  ['sources update Website', 2, 'give what to change; see: postrider sources update --help'],
  ['destinations update CRM', 2, 'give what to change; see: postrider destinations update --help'],
  ['audiences update Members', 2, 'give what to change; see: postrider audiences update --help'],
  ['alerts update-channel Ops', 2, 'give what to change; see: postrider alerts update-channel --help'],
  ['destinations create New --header "X: 1"', 2, '--header needs --url'],
  ['destinations create New --max-per-second 5', 2, '--max-per-second needs --url'],
  [`${toCrm} --hold-after 5m`, 2, '--hold-after needs --on-failing hold'],
  ['destinations update CRM --hold-after 5m', 2, '--hold-after needs --on-failing hold'],
  [`${toCrm} --secret-env NOT_THERE`, 2, 'the environment variable NOT_THERE is not set'],
  [
    'destinations test Bare',
    1,
    /^nothing was sent; add an endpoint with: postrider destinations update dst_\w+ --url <url>$/,
  ],
  // Values.
  [
    'sources rotate-key Website --overlap 31d',
    2,
    /'31d' is invalid\. It must be a duration of at most 30d, in whole seconds\.$/,
  ],
  [`${toCrm} --timeout 31s`, 2, /'31s' is invalid\. It must be a duration from 1s to 30s, in whole seconds\.$/],
  [`${toCrm} --timeout 1500ms`, 2, /'1500ms' is invalid\. It must be a duration from 1s to 30s, in whole seconds\.$/],
  [`${toCrm} --retry-window 100h`, 2, /'100h' is invalid\. It must be a duration from 1h to 72h, in whole hours\.$/],
  [
    `${toCrm} --endpoint-retry-window 90m`,
    2,
    /'90m' is invalid\. It must be a duration from 1h to 72h, in whole hours\.$/,
  ],
  ['destinations create New --endpoint-retry-pauses 1s..1m', 2, '--endpoint-retry-pauses needs --url'],
  [`${toCrm} --retry-pauses 15m..30s`, 2, /The first pause must not be longer than the longest one\.$/],
  [`${toCrm} --order-per-user 2d`, 2, /'2d' is invalid\. It must be a duration from 1s to 1d, in whole seconds\.$/],
  [
    'alerts rules --endpoint-failing 0s',
    2,
    /'0s' is invalid\. It must be a duration from 1s to 1d, in whole seconds\.$/,
  ],
  ['alerts mute nope 2', 2, /^command-argument value '2' is invalid for argument 'duration'\. It must be a duration /],
  [
    'audiences update Members --name Others',
    2,
    /^its trait would have another name: give --keep-key .*, or --new-key /,
  ],
  // Files.
  [`${toCrm} --filter nofile`, 2, 'nofile cannot be read: there is no such file'],
  [`${toCrm} --filter folder.csv`, 2, 'folder.csv cannot be read: it is a folder'],
  [`${toCrm} --filter text.yaml`, 2, /^text\.yaml is neither YAML nor JSON: .* at line 2, column 1$/],
  ['apply nofile.yaml', 2, 'nofile.yaml cannot be read: there is no such file'],
  ['apply text.yaml', 2, /^the file is neither YAML nor JSON: .* at line 2, column 1$/],
  ['send track --source Website --data nofile', 2, 'nofile cannot be read: there is no such file'],
  ['audiences upload Members nofile.csv', 2, 'nofile.csv cannot be read: there is no such file'],
  ['audiences upload Members folder.csv', 2, 'folder.csv cannot be read: it is a folder'],
  ['alerts test-channel Ops', 1, /^the channel did not take it: .*127\.0\.0\.1:9/],
]

it('says of each mistake what would be right', async () => {
  const said: [line: string, code: number | null, stderr: string][] = []
  for (let at = 0; at < mistakes.length; at += atATime)
    said.push(
      ...(await Promise.all(
        mistakes.slice(at, at + atATime).map(async ([line]): Promise<(typeof said)[number]> => {
          const { code, stderr } = await shell.sh(`postrider ${line}`)
          return [line, code, stderr]
        }),
      )),
    )
  expect(said).toEqual(
    mistakes.map(([line, code, what]) => [
      line,
      code,
      typeof what === 'string'
        ? `postrider: ${what}\n`
        : (expect.stringMatching(
            new RegExp(what.source.replace(/^\^/, '^postrider: ').replace(/\$$/, '\\n$')),
          ) as unknown),
    ]),
  )
  const { body } = await node.api<{ items: unknown[] }>('GET', '/destinations')
  expect(body.items).toHaveLength(2)
})

it('asks for a token where there is none', async () => {
  const { code, stderr } = await shell.run(['sources', 'list'], { env: { POSTRIDER_ADMIN_TOKEN: '' } })
  expect(code).toBe(4)
  expect(stderr).toBe(
    'postrider: The node asks for a token. Give it with --token or POSTRIDER_ADMIN_TOKEN, or save it with: postrider login\n',
  )
})
