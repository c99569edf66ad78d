/** What `--help` says: of every command, argument and option, with examples that a node takes as they stand. */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type * as Examples from '../../src/commands/examples.ts'
import type * as Program from '../../src/commands/program.ts'
import type * as Whole from '../../src/commands/whole.ts'
import type { Page } from '../../src/db/page.ts'
import type { DeletionRequest } from '../../src/schemas/deletion-request.ts'
import type { Source } from '../../src/schemas/source.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { builtModule } from '../support/built-command.ts'
import { track, untilStatus } from '../support/deliveries.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'
import { openShell, type Shell } from './command.ts'

const { buildProgram } = await builtModule<typeof Program>('commands/program.js')
const { whole } = await builtModule<typeof Whole>('commands/whole.js')
const { examples } = await builtModule<typeof Examples>('commands/examples.js')

/** All commands below the program, each by its words. */
function commandsOf(command: Command, words = ''): [words: string, command: Command][] {
  return command.commands.flatMap((child) => {
    const path = `${words} ${child.name()}`.trimStart()
    return [[path, child] as [string, Command], ...commandsOf(child, path)]
  })
}
const all = commandsOf(buildProgram(whole()))

describe('the help', () => {
  it('says what every command does, takes, and may be told', () => {
    const unsaid = all.flatMap(([words, command]) => [
      ...(command.description() === '' ? [words] : []),
      ...command.registeredArguments
        .filter(({ description }) => description === '')
        .map((one) => `${words} <${one.name()}>`),
      ...command.options.filter(({ description }) => description === '').map(({ flags }) => `${words} ${flags}`),
    ])
    expect(unsaid).toEqual([])
  })

  it('gives a unit, bounds or an example with every option that is a number or a time', () => {
    const measure = /<(duration|number|count|percent|minutes|time|port)>/
    const said = /\b\d+(\.\.|ms|s|m|h|d)|\b1 to \d+|ISO 8601|in the same forms/
    const options = all.flatMap(([words, { options }]) => options.map((option) => ({ words, option })))
    const measured = options.filter(({ option }) => measure.test(option.flags))
    expect(measured.length).toBeGreaterThan(20)
    const vague = measured.filter(
      ({ option }) => !said.test(`${option.description} ${option.defaultValueDescription ?? ''}`),
    )
    expect(vague.map(({ words, option }) => `${words} ${option.flags}`)).toEqual([])
  })

  it('has examples of every command, and none of others', () => {
    const leaves = all.filter(([, { commands }]) => commands.length === 0).map(([words]) => words)
    expect(Object.keys(examples).sort()).toEqual(leaves.sort())
    for (const [words, command] of all) {
      let help = ''
      command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp()
      expect([words, help]).toEqual([words, expect.stringContaining('Examples:\n  $ ')])
      for (const line of examples[words] ?? []) expect(line).toContain(words)
    }
  })
})

/** Those that run in tests of their own: they go on, ask at a terminal, or need what takes long to be there. */
const elsewhere: Record<string, string> = {
  start: 'test/cli/machine.test.ts',
  migrate: 'test/cli/machine.test.ts',
  'keys show': 'test/cli/keys.test.ts',
  'keys rotate': 'test/cli/keys.test.ts',
  doctor: 'test/cli/machine.test.ts',
  login: 'test/cli/machine.test.ts',
  'profiles list': 'test/cli/machine.test.ts',
  'profiles use': 'test/cli/machine.test.ts',
  'profiles remove': 'test/cli/machine.test.ts',
  listen: 'test/cli/deliveries.test.ts',
  'deliveries tail': 'test/cli/deliveries.test.ts',
  complete: 'test/cli/completion.test.ts',
  'deliveries retry': 'test/cli/deliveries.test.ts',
  'deliveries cancel': 'test/cli/deliveries.test.ts',
  'alerts mute': 'test/system/alerts.test.ts',
  'audiences undo': 'test/cli/settings.test.ts',
  'audiences confirm': 'test/cli/settings.test.ts',
  'audiences stop': 'test/audiences/control.test.ts',
}
const runHere = Object.entries(examples).filter(([words]) => !(words in elsewhere))

const files = {
  'call.json': '{"userId":"u1","event":"Order Completed"}',
  'members.csv': 'userId\nu1\nu2\n',
  'orders.yaml': 'events: [Order *]',
  'ads.yaml': 'drop: [context.ip]',
  'query.sql': 'select user_id from churning',
  'postrider.yaml': 'version: 1\nsources: [{ name: Website }, { name: Another }]\n',
}

/** Examples that end otherwise than with 0. */
const ends: Record<string, number> = {
  // Nothing listens where its mails would go.
  'alerts test-channel Ops': 1,
  'apply postrider.yaml --dry-run': 7,
}

describe('examples', () => {
  let node: TestApp
  let receiver: Receiver
  let shell: Shell
  beforeAll(async () => {
    node = await startTestApp()
    receiver = await startReceiver()
    receiver.answer({ headers: { 'content-type': 'text/csv' }, body: 'userId\nu1\n' })
    shell = await openShell(node.url)
  })
  afterAll(async () => {
    await shell[Symbol.asyncDispose]()
    await receiver.close()
    await node[Symbol.asyncDispose]()
  })

  const made = async (path: string, body: object): Promise<string> => {
    const answer = await node.api<{ id: string }>('POST', path, body)
    expect([path, Math.floor(answer.status / 100)]).toEqual([path, 2])
    return answer.body.id
  }

  const areDeletionsOver = async (): Promise<boolean> => {
    const { body } = await node.api<Page<DeletionRequest>>('GET', '/deletion-requests')
    return body.items.every(({ status }) => status === 'completed')
  }

  /** Puts what the examples name in the place of all that is there.
   *  @returns what stands for the ids and variables of the examples */
  async function setScene(words: string): Promise<Record<string, string>> {
    for (const kind of ['alert-channels', 'audiences', 'destinations', 'sources', 'tokens']) {
      const { body } = await node.api<{ items: { id: string }[] }>('GET', `/${kind}`)
      for (const { id } of body.items) await node.api('DELETE', `/${kind}/${id}`)
    }
    if (words === 'deletion-requests lift') await until('no user is being deleted', areDeletionsOver, 60_000)
    for (const [name, text] of Object.entries(files)) await writeFile(join(shell.folder, name), text)
    const website = await node.createSource('Website')
    await node.createSource('App')
    const crm = await node.connect([website], [receiver.url], { name: 'CRM' })
    const destinationIds = [crm.id]
    if (words === 'audiences create') return {}
    await made('/audiences', { name: 'Big spenders', destinationIds, membership: { kind: 'push' } })
    const url = `${receiver.url}/churning.csv`
    await made('/audiences', { name: 'Churning', destinationIds, membership: { kind: 'http', url } })
    const mail = {
      kind: 'email',
      smtpUrl: 'smtp://127.0.0.1:9',
      from: 'postrider@example.com',
      to: ['ops@example.com'],
    }
    await made('/alert-channels', { name: 'Ops', settings: mail })
    await made('/alert-channels', { name: 'Slack', settings: { kind: 'slack', url: receiver.url } })
    if (words === 'tokens revoke') await made('/tokens', { name: 'CI', role: 'viewer' })
    return {
      'event/src_1/msg_1': words.startsWith('deliveries') ? await deliver(website) : '',
      del_1: words === 'deletion-requests show' ? await made('/deletion-requests', { userIds: ['user-1'] }) : '',
      '"$KEY"': website.writeKey,
    }
  }

  async function deliver(source: Source): Promise<string> {
    const id = await track(node, source, { userId: 'u1', event: 'Order Completed', messageId: 'msg_1' })
    await untilStatus(node, id, 'delivered')
    return id
  }

  it.each(runHere)('of %s', { timeout: 120_000 }, async (words, calls) => {
    const secrets = `CRM_SECRET=a-secret SLACK_URL=${receiver.url} MAIL=smtp://127.0.0.1:9`
    for (const call of calls) {
      let line = call
      for (const [name, value] of Object.entries(await setScene(words))) line = line.replaceAll(name, value)
      const isAsked = all.find(([name]) => name === words)?.[1].options.some(({ long }) => long === '--yes')
      if (isAsked && !line.includes('--yes') && !line.includes('--dry-run')) line += ' --yes'
      const { code, stderr } = await shell.sh(
        `export WAREHOUSE_URL=postgres://127.0.0.1:9/warehouse ${secrets}; echo '{"userId":"u1"}' | postrider ${line}`,
      )
      expect([call, code, stderr]).toEqual([call, ends[call] ?? 0, expect.anything()])
    }
  })
})
