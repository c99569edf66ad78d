/** A filter, a mapping and an alert, made by somebody who does what their pages say, line by line. */

import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { AlertRules } from '../../src/schemas/alert.ts'
import type { Destination } from '../../src/schemas/destination.ts'
import type { Source } from '../../src/schemas/source.ts'
import type { TurnedAwayEvent } from '../../src/schemas/turned-away.ts'
import { openShell, type Ended, type Shell } from '../cli/command.ts'
import { adminToken, startTestApp, type TestApp } from '../support/app.ts'
import { startMailServer } from '../support/mail-server.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

const pageOf = (name: string): string => readFileSync(resolve(import.meta.dirname, '../../docs', `${name}.md`), 'utf8')

/** The blocks of a page in a language. */
const blocksOf = (page: string, language: string): string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, code = '']) => code)

/** Commands that a page names, in the order in which they stand there, within its lines too. */
const commandsOf = (page: string): string[] =>
  [...page.matchAll(/^ {4}(postrider .+)$|`(postrider [^`]+)`/gm)].map(([, line, word]) => line ?? word ?? '')

let node: TestApp
let shell: Shell
beforeAll(async () => {
  node = await startTestApp()
  shell = await openShell(node.url)
})
afterAll(async () => {
  await shell[Symbol.asyncDispose]()
  await node[Symbol.asyncDispose]()
})

/** Does what stands in a block or a line, at this node. */
async function does(line: string, destinationId = ''): Promise<Ended> {
  const ended = await shell.sh(`ID=${destinationId}\n${line.replaceAll('http://localhost:8080', node.url)}`)
  expect([line, ended.code, ended.stderr]).toEqual([line, 0, expect.anything()])
  return ended
}

/** A call as a page has it for `curl`, which not every machine has. */
async function calls(block: string, destinationId: string): Promise<unknown> {
  const [, method = 'POST', path = '', body = ''] =
    /curl (?:-X (\w+) )?http:\/\/localhost:8080(\S+) .*-d '(.*)'/s.exec(block) ?? []
  const answer = await fetch(`${node.url}${path.replace('$ID', destinationId)}`, {
    method,
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    body,
  })
  expect([block, answer.status]).toEqual([block, 200])
  return answer.json()
}

const writeDraft = (draft = ''): Promise<void> => writeFile(join(shell.folder, 'orders.yaml'), draft)

interface Scene {
  receiver: Receiver
  source: Source
  id: string
  send: (event: string, more?: object) => Promise<void>
  stored: () => Promise<Destination>
  /** The last body that the receiver got. */
  got: (count: number) => Promise<Record<string, unknown>>
}

/** The destination `CRM` of the pages. */
async function setScene(): Promise<Scene> {
  const receiver = await startReceiver()
  const source = await node.createSource()
  const { id } = await node.connect([source], [receiver.url], { name: 'CRM' })
  onTestFinished(async () => {
    await node.api('DELETE', `/destinations/${id}`)
    await receiver.close()
  })
  return {
    ...{ receiver, source, id },
    async send(event, more = {}) {
      expect((await node.post('/track', source.writeKey, { userId: 'u-17', event, ...more })).status).toBe(200)
    },
    stored: async () => (await node.api<Destination>('GET', `/destinations/${id}`)).body,
    got: async (count) =>
      JSON.parse((await receiver.received(count)).at(-1)?.body.toString() ?? '') as Record<string, unknown>,
  }
}

describe('who has read the page about filters', () => {
  const page = pageOf('filters')
  const [shortest = '', rules = ''] = blocksOf(page, 'json')
  const [setIt = '', tryIt = ''] = blocksOf(page, 'sh')

  it('sets one, tries another, and finds what was left out', async () => {
    const { receiver, source, id, send, stored, got } = await setScene()
    const turnedAway = async (): Promise<(string | null)[]> =>
      (await node.api<{ items: TurnedAwayEvent[] }>('GET', `/turned-away?sourceId=${source.id}`)).body.items.map(
        ({ message }) => message,
      )
    await calls(setIt, id)
    expect((await stored()).filter).toEqual(JSON.parse(shortest))
    await send('Signed Up')
    await send('Order Paid', { properties: { total: 19.5, currency: 'EUR' } })
    expect(await got(1)).toMatchObject({ event: 'Order Paid' })
    await until('one is left out', async () => (await turnedAway()).length === 1)
    // Deliveries are found a moment after they ended.
    await until('both are tried', async () => {
      const tried = (await calls(tryIt, id)) as { tried: number; sent: number; dropped: number }
      return tried.tried === 2 && tried.sent === 1 && tried.dropped === 1
    })

    await writeDraft(rules)
    const [update = '', rehearse = ''] = commandsOf(page)
    expect((await does(rehearse)).stdout).toContain('properties.total greater 100')
    expect((await stored()).filter).toEqual(JSON.parse(shortest))
    await does(update)
    expect((await stored()).filter).toEqual(JSON.parse(rules))
    const total = async (value: number, ip = '192.0.2.7') =>
      send('Order Paid', { properties: { total: value, currency: 'CHF' }, context: { ip } })
    await total(19.5)
    await total(500, '10.1.2.3')
    await total(500)
    expect(await got(2)).toMatchObject({ properties: { total: 500 }, context: { ip: '192.0.2.7' } })
    await until('three are left out', async () => (await turnedAway()).length === 3)
    const [said = ''] = /^ {4}(Filters left it out: .*)$/m.exec(page) ?? []
    expect(await turnedAway()).toContain(said.trim())
    await does('postrider destinations update CRM --no-filter')
    expect((await stored()).filter).toBeNull()
    expect(receiver.requests).toHaveLength(2)
  })
})

describe('who has read the page about mappings', () => {
  const page = pageOf('mapping')
  const [setIt = '', tryIt = ''] = blocksOf(page, 'sh')

  it('sets one, tries another, and mends one that cannot be applied', async () => {
    const { source, id, send, stored, got } = await setScene()
    const [shortest = ''] = blocksOf(page, 'json')
    await calls(setIt, id)
    expect((await stored()).mapping).toEqual(JSON.parse(shortest))
    const about = { context: { ip: '192.0.2.7', locale: 'en' }, properties: { total: 19.5, card: '4111' } }
    await send('Order Paid', about)
    expect((await got(1))['context']).toEqual({ locale: 'en' })
    await until('it is tried', async () => {
      const { tried, changed } = (await calls(tryIt, id)) as { tried: number; changed: number }
      return tried === 1 && changed === 1
    })

    await writeDraft('drop: [properties.card]\nhash: [traits.email]')
    const [update = '', rehearse = ''] = commandsOf(page)
    await does(rehearse)
    expect((await stored()).mapping).toEqual(JSON.parse(shortest))
    await does(update)
    await send('Order Paid', about)
    expect((await got(2))['properties']).toEqual({ total: 19.5 })
    await node.post('/identify', source.writeKey, { userId: 'u-17', messageId: 'bad', traits: { email: {} } })
    const [said = ''] = /^ {4}(The mapping could not be applied: .*)$/m.exec(page) ?? []
    const delivery = `/deliveries/${encodeURIComponent(`event/${source.id}/bad`)}`
    await until('it has failed as the page says', async () => {
      const { body } = await node.api<{ status: string; reason: string | null }>('GET', delivery)
      return body.status === 'failed' && body.reason?.includes(said.trim()) === true
    })
    await does('postrider destinations update CRM --no-mapping')
    expect((await node.api('POST', `${delivery}/redeliver`)).status).toBe(200)
    expect(await got(3)).toMatchObject({ messageId: 'bad', traits: { email: {} } })
  })
})

describe('who has read the page about alerts', () => {
  it('has a mail when an endpoint fails, and a preview of other rules', async () => {
    await using mail = await startMailServer()
    const { mails, url } = mail
    const page = pageOf('alerts')
    const [, example = ''] = /^## Example\n\n((?: {4}.*\n)+)/m.exec(page) ?? []
    const lines = example.replace(/'smtp:.*'/, url)
    expect(lines).toContain(url)
    await does(`set -e\n${lines}`)
    await until('the test came', () => mails.some((mail) => mail.includes('This is a test')))
    expect((await node.api<AlertRules>('GET', '/alert-rules')).body.endpointFailingAfterSeconds).toBe(600)
    const preview = commandsOf(page).find((command) => command.endsWith('--preview'))
    await does(preview ?? '')
    expect((await node.api<AlertRules>('GET', '/alert-rules')).body.endpointFailedPercent).toBeNull()

    // As long as the page says would be long for a test.
    const { receiver, send, id } = await setScene()
    receiver.answer({ status: 503 })
    await does('postrider alerts rules --endpoint-failing 1s')
    await send('Order Paid')
    await until('a mail says that it fails', () => mails.some((mail) => mail.includes('An endpoint fails: CRM')))
    // A mail breaks long lines.
    expect(mails.join('').replaceAll('=\r\n', '')).toContain(`https://postrider.example.com/destinations/${id}`)
    receiver.answer({})
    await until('another one that it works again', () => mails.some((mail) => mail.includes('An endpoint works again')))
    await does('postrider alerts list')
  })
})
