import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Delivery, DeliveryDetail } from '../../src/schemas/delivery.ts'
import type { Destination } from '../../src/schemas/destination.ts'
import type { Source } from '../../src/schemas/source.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'
import { openShell, type Running, type Shell } from './command.ts'

let node: TestApp
let shell: Shell
let receiver: Receiver
let source: Source

beforeAll(async () => {
  node = await startTestApp()
  shell = await openShell(node.url)
  receiver = await startReceiver()
  source = await node.createSource('Website')
  await node.connect([source], [receiver.url])
})
afterAll(async () => {
  await shell[Symbol.asyncDispose]()
  await receiver.close()
  await node[Symbol.asyncDispose]()
})

const deliveryOf = async (messageId: string): Promise<Delivery | undefined> =>
  (await node.api<{ items: Delivery[] }>('GET', `/deliveries?messageId=${messageId}`)).body.items[0]

/** Sends an event, and waits until its delivery can be listed with the status. */
async function deliver(messageId: string, status: Delivery['status'], properties = {}): Promise<Delivery> {
  await node.post('/track', source.writeKey, { userId: 'u1', event: 'Sent', messageId, properties })
  return until(`${messageId} ${status}`, async () => {
    const delivery = await deliveryOf(messageId)
    return delivery?.status === status && delivery
  })
}

describe('send', () => {
  it('sends each type of call', async () => {
    const before = receiver.requests.length
    const calls = [
      ['track', '--user-id', 'u1', '--event', 'Order Completed', '--properties', '{"total":12.5}'],
      ['alias', '--user-id', 'u2', '--previous-id', 'u1'],
    ]
    for (const call of calls) {
      const sent = await shell.json<{ delivery: DeliveryDetail }>(['send', ...call, '--source', 'Website'])
      expect(sent.delivery).toMatchObject({ status: 'delivered', type: call[0], timeline: [{ status: 200 }] })
    }
    const others = [
      ['identify', '--user-id', 'u1', '--traits', '{"plan":"pro"}'],
      ['group', '--user-id', 'u1', '--group-id', 'g1'],
      ['page', '--anonymous-id', 'a1', '--name', 'Home'],
      ['screen', '--anonymous-id', 'a1', '--name', 'Start'],
    ]
    await Promise.all(others.map((call) => shell.json(['send', ...call, '--write-key', source.writeKey, '--no-wait'])))
    const requests = (await receiver.received(before + 6)).slice(before)
    const bodies = requests.map(({ body }) => JSON.parse(body.toString()) as Record<string, unknown>)
    expect(bodies.map(({ type }) => type).sort()).toEqual(['alias', 'group', 'identify', 'page', 'screen', 'track'])
    expect(bodies.find(({ type }) => type === 'track')).toMatchObject({ properties: { total: 12.5 } })
  })

  it('shows the attempts and the answer, and fails when the delivery did', async () => {
    receiver.answer({ status: 400, body: 'no such user' })
    const failed = await shell.run(['send', 'track', '--source', 'Website', '--data', '-'], {
      input: JSON.stringify({ userId: 'u1', event: 'From a file', messageId: 'from-file' }),
    })
    receiver.answer({})
    expect(failed.code).toBe(1)
    expect(failed.stdout).toMatch(/status: +failed/)
    expect(failed.stdout).toContain('no such user')
    const listed = await until('the list has it', () => deliveryOf('from-file'))
    expect(listed.event).toBe('From a file')
  })

  it('ends with 6 when the delivery takes longer than it may', async () => {
    receiver.answer({ status: 503 })
    const call = ['send', 'track', '--source', 'Website', '--user-id', 'u1', '--event', 'Late', '--timeout', '15s']
    const late = await shell.run([...call, '--json'])
    receiver.answer({})
    expect(late.code).toBe(6)
    expect(JSON.parse(late.stdout)).toMatchObject({ delivery: { status: 'retrying' } })
    expect(JSON.parse(late.stderr)).toMatchObject({ success: false, code: 'timeout' })
  })

  it('says at once what nobody takes, and why', async () => {
    const picky = await node.createSource('Picky')
    const { id } = await node.connect([picky], [receiver.url], { name: 'Orders', filter: { events: ['Order *'] } })
    const call = [
      'send',
      'track',
      '--source',
      'Picky',
      '--user-id',
      'u1',
      '--event',
      'Hello',
      '--timeout',
      '10m',
      '--json',
    ]
    const sent = await shell.run(call)
    expect(sent.code).toBe(1)
    expect(JSON.parse(sent.stderr)).toMatchObject({
      code: 'filtered',
      message: expect.stringContaining('Orders') as unknown,
    })
    await node.api('DELETE', `/destinations/${id}`)
    const alone = await shell.run(['send', 'track', '--source', 'Picky', '--user-id', 'u1', '--event', 'Hello'])
    expect(alone).toMatchObject({ code: 0, stdout: expect.stringContaining('No destination is connected') as unknown })
  })

  it('says where the fault is', async () => {
    const call = ['send', 'track', '--user-id', 'u1', '--event', 'E']
    const [unknownKey, noSource, badJson, badCall] = await Promise.all([
      shell.run([...call, '--write-key', 'wk_none']),
      shell.run(call),
      shell.run([...call, '--properties', '[1]']),
      shell.run(['send', 'track', '--source', 'Website', '--user-id', 'u1', '--json']),
    ])
    expect([unknownKey.code, noSource.code, badJson.code, badCall.code]).toEqual([4, 2, 2, 1])
    expect(JSON.parse(badCall.stderr)).toMatchObject({ code: 'event_not_defined' })
  })
})

describe('deliveries', () => {
  it('lists, counts and shows them', async () => {
    const { id } = await deliver('shown', 'delivered', { note: 'a\u009b31mb' })
    const [listed, counted, shown, text] = await Promise.all([
      shell.json<{ items: Delivery[] }>(['deliveries', 'list', '--message-id', 'shown', '--since', '1h']),
      shell.json(['deliveries', 'count', '--message-id', 'shown', '--source', 'Website']),
      shell.json(['deliveries', 'show', id]),
      shell.run(['deliveries', 'show', id]),
    ])
    expect(listed.items).toMatchObject([{ id, status: 'delivered', event: 'Sent' }])
    expect(counted).toEqual({ count: 1 })
    expect(shown).toMatchObject({ id, message: { event: 'Sent' }, timeline: [{ status: 200 }] })
    expect(text.stdout).toMatch(/status: +delivered/)
    const rows = await shell.run(['deliveries', 'list', '--message-id', 'shown'])
    expect(rows.stdout).toMatch(new RegExp(`delivered +track +Sent +u1 +Test destination +1 .*${id}$`, 'm'))
    expect(text.stdout).toContain((shown as DeliveryDetail).temporalUiUrl ?? '')
    // Without what would steer the terminal.
    expect(text.stdout).toContain('"note": "a 31mb"')
    const { stdout } = await shell.run(['deliveries', 'show', id, '--headers'])
    expect(stdout).toMatch(/^> POST http.+\n> User-Agent: Postrider\/1\.0\n(> .+\n)+< 200\n(< .+\n)+/m)
    expect((await shell.run(['deliveries', 'show', 'event/none/none'])).code).toBe(5)
  })

  it('names a destination that is deleted as it was called', async () => {
    const shop = await node.createSource('Former shop')
    const { id } = await node.connect([shop], [receiver.url], { name: 'Old CRM' })
    await node.post('/track', shop.writeKey, { userId: 'u1', event: 'Sent', messageId: 'before-the-end' })
    const list = ['deliveries', 'list', '--source', 'Former shop', '--message-id', 'before-the-end']
    await until('it is delivered', async () => (await shell.run(list)).stdout.includes('delivered'))
    await node.api('DELETE', `/destinations/${id}`)
    expect((await shell.run(list)).stdout).toContain('Old CRM (deleted)')
  })

  it('shows them as they begin and change', async () => {
    await using tail = shell.start(['deliveries', 'tail', '--source', 'Website', '--json'])
    receiver.answer({ status: 503 })
    await until('the tail to run', async () => {
      await node.post('/track', source.writeKey, { userId: 'u1', event: 'Tailed' })
      return tail.lines().length > 0
    })
    const first = JSON.parse(tail.lines()[0] ?? '') as Delivery
    receiver.answer({})
    const last = await tail.line(new RegExp(`${first.messageId}.*`.replace(/^/, '"status":"delivered".*')))
    expect(JSON.parse(last)).toMatchObject({ messageId: first.messageId, status: 'delivered' })
    expect((await tail.interrupt()).code).toBe(0)
  })

  it('are shown until nobody reads them any more', async () => {
    await using tail = shell.start(['deliveries', 'tail', '--source', 'Website', '--json', '--since', '1h'])
    await tail.line('"messageId"')
    tail.process.stdout.destroy()
    await deliver('unread', 'delivered')
    expect(await tail.ended).toMatchObject({ code: 0, stderr: '' })
  })

  it('repeats one, with the reason in its history', async () => {
    const { id } = await deliver('repeated', 'delivered')
    const before = receiver.requests.length
    const answer = await shell.json<{ items: { newId: string }[] }>([
      'deliveries',
      'redeliver',
      id,
      '--why',
      'lost over there',
    ])
    await receiver.received(before + 1)
    expect(answer.items[0]?.newId).toBe(`${id}/redelivery/1`)
  })

  it('wakes and stops all that match, after a count and a yes', async () => {
    receiver.answer({ status: 503 })
    await deliver('woken-1', 'retrying')
    await deliver('woken-2', 'retrying')
    const filter = ['--status', 'retrying', '--user-id', 'u1']
    const refused = await shell.run(['deliveries', 'retry', ...filter])
    expect(refused.code).toBe(2)
    expect(refused.stderr).toMatch(/\d deliveries match/)
    const over = ['--status', 'delivered', '--user-id', 'u1']
    const nothing = await shell.json<{ matched: number }>(['deliveries', 'retry', ...over])
    expect(nothing).toMatchObject({
      done: 0,
      failures: [{ reason: 'they have already ended', count: nothing.matched }],
    })
    expect((await shell.run(['deliveries', 'redeliver', ...over])).stderr).toMatch(
      /1 of them was redelivered before\. Redeliver them\?/,
    )
    expect((await shell.run(['deliveries', 'retry'])).code).toBe(2)
    const woken = await shell.json<{ matched: number }>(['deliveries', 'retry', ...filter, '--yes', '--why', 'try'])
    expect(woken).toMatchObject({ action: 'retry', status: 'completed' })
    expect(woken.matched).toBeGreaterThanOrEqual(2)
    const stopped = await shell.json(['deliveries', 'cancel', ...filter, '--yes'])
    expect(stopped).toMatchObject({ action: 'cancel', status: 'completed' })
    await until('both cancelled', async () => (await deliveryOf('woken-1'))?.status === 'cancelled')
    await until('both cancelled', async () => (await deliveryOf('woken-2'))?.status === 'cancelled')
    receiver.answer({})
  })
})

interface Listening {
  listening: string
  destinationId: string
}

describe('listen', () => {
  it('shows and forwards what comes, and holds what comes while it is off until it is back', async () => {
    await using local = await startReceiver()
    const source = await node.createSource('Shop')
    const send = (event: string) => node.post('/track', source.writeKey, { userId: 'u1', event, messageId: event })
    const command = ['listen', 'Shop', '--forward-to', `${local.url}/hook`, '--header', 'X-From: listen', '--json']

    const first = shell.start(command)
    const { destinationId, listening } = JSON.parse(await first.line('"listening"')) as Listening
    await send('While on')
    expect(JSON.parse(await first.line('While on'))).toMatchObject({
      type: 'track',
      event: 'While on',
      userId: 'u1',
      genuine: true,
      status: 200,
      forwarded: '200',
    })
    const [forwarded] = await local.received(1)
    expect(forwarded).toMatchObject({ method: 'POST', path: '/hook', headers: { 'x-from': 'listen' } })
    expect(forwarded?.headers['x-signature']).toMatch(/^[0-9a-f]{40}$/)
    expect(JSON.parse(forwarded?.body.toString() ?? '')).toMatchObject({ event: 'While on' })

    // Not signed by the node: neither forwarded nor accepted.
    const forged = await fetch(listening, { method: 'POST', body: '{"type":"track","event":"Forged"}' })
    expect(forged.status).toBe(401)
    expect(JSON.parse(await first.line('Forged'))).toMatchObject({ genuine: false, forwarded: null })
    expect((await fetch(listening, { method: 'POST', body: 'x'.repeat(1_000_000) })).status).toBe(413)

    // What the local program answers is what the node gets to know.
    local.answerInTurn({ status: 503 }, {})
    await send('At the second try')
    await local.received(3)

    expect((await first.interrupt()).code).toBe(0)
    const { body: paused } = await node.api<Destination>('GET', `/destinations/${destinationId}`)
    expect(paused.paused).toBe(true)
    await send('While off')
    await until('the event to be held', async () => {
      const { body } = await node.api<{ items: Delivery[] }>('GET', '/deliveries?status=held')
      return body.items.some(({ event }) => event === 'While off')
    })
    expect(local.requests).toHaveLength(3)

    await using second = shell.start(command)
    expect(JSON.parse(await second.line('"listening"'))).toMatchObject({ destinationId })
    expect(JSON.parse(await second.line('While off'))).toMatchObject({ genuine: true, status: 200 })
    await local.received(4)
    const { items } = (await node.api<{ items: Destination[] }>('GET', '/destinations')).body
    expect(items.filter(({ sourceIds }) => sourceIds.includes(source.id))).toHaveLength(1)
    expect((await second.interrupt()).code).toBe(0)
  })

  const listening = async (started: Running): Promise<Listening> =>
    JSON.parse(await started.line('"listening"')) as Listening

  it('has a destination of its own beside another one, and both get all events', async () => {
    const source = await node.createSource('Shared')
    await using one = shell.start(['listen', 'Shared', '--json'])
    const { destinationId: firstId } = await listening(one)
    await using other = shell.start(['listen', 'Shared'])
    await other.line('Receiving events of Shared')
    const { items } = (await node.api<{ items: Destination[] }>('GET', '/destinations')).body
    const secondId = items.find(({ id, sourceIds }) => id !== firstId && sourceIds.includes(source.id))?.id ?? ''
    await node.post('/track', source.writeKey, { userId: 'u1', event: 'To both' })
    await Promise.all([one.line('To both'), other.line('To both')])
    const { stderr } = await other.interrupt()
    expect(stderr).toContain(`postrider destinations delete ${secondId}`)
    await node.post('/track', source.writeKey, { userId: 'u1', event: 'To one' })
    await one.line('To one')

    // After a hard kill the next one goes on with the same destination.
    one.process.kill('SIGKILL')
    await one.ended
    await using again = shell.start(['listen', 'Shared', '--json'])
    expect(await listening(again)).toMatchObject({ destinationId: firstId })
  })

  it('leaves a destination alone that leads elsewhere by now', async () => {
    const source = await node.createSource('Moved')
    await using one = shell.start(['listen', 'Moved'])
    await one.line('Receiving events of Moved')
    const { items } = (await node.api<{ items: Destination[] }>('GET', '/destinations')).body
    const destinationId = items.find(({ sourceIds }) => sourceIds.includes(source.id))?.id ?? ''
    await node.api('PATCH', `/destinations/${destinationId}`, {
      settings: { webhooks: [{ url: 'http://127.0.0.1:9/' }] },
    })
    const { code, stderr } = await one.interrupt()
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('leads to another listen') as string,
    })
    expect((await node.api<Destination>('GET', `/destinations/${destinationId}`)).body.paused).toBe(false)
  })

  it('ends after the first event and leaves nothing behind, where that is asked for', async () => {
    const source = await node.createSource('Brief')
    await using brief = shell.start(['listen', 'Brief', '--once', '--remove', '--json'])
    const { destinationId } = await listening(brief)
    await node.post('/track', source.writeKey, { userId: 'u1', event: 'The only one' })
    const { code, stdout } = await brief.ended
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('The only one') as string })
    expect((await node.api('GET', `/destinations/${destinationId}`)).status).toBe(404)
  })

  describe('that fetches its events', () => {
    const destinationOf = async (started: Running): Promise<string> =>
      (JSON.parse(await started.line('"destinationId"')) as Listening).destinationId

    it('shows and forwards them, and has the same destination when it is started again at once', async () => {
      await using local = await startReceiver()
      const source = await node.createSource('Afar')
      const send = (event: string) => node.post('/track', source.writeKey, { userId: 'u1', event })
      const command = ['listen', 'Afar', '--fetch', '--forward-to', `${local.url}/hook`, '--header', 'X-From: listen']
      await using one = shell.start([...command, '--json'])
      const firstId = await destinationOf(one)
      local.answerInTurn({ status: 503 }, {})
      await send('At the second try')
      await local.received(2)
      expect(local.requests[0]).toMatchObject({ method: 'POST', path: '/hook', headers: { 'x-from': 'listen' } })
      await until('both are shown', () => one.lines().filter((line) => line.includes('At the second try')).length === 2)
      expect((await one.interrupt()).code).toBe(0)

      await send('While off')
      await using again = shell.start([...command, '--json'])
      expect(await destinationOf(again)).toBe(firstId)
      expect(JSON.parse(await again.line('While off'))).toMatchObject({ status: 200, forwarded: '200' })

      // Beside one that runs there is another destination, which the end of the other leaves as it is.
      await using beside = shell.start(command)
      await beside.line('Receiving events of Afar')
      expect((await again.interrupt()).code).toBe(0)
      await send('To the other')
      expect(await beside.line('To the other')).toContain('fetched, forwarded: 200')
      expect((await beside.interrupt()).stderr).toMatch(/^Paused: .* postrider destinations delete dst_\w+$/m)
    })

    it('lets others have the destination once it is killed', async () => {
      await node.createSource('Killed')
      await using killed = shell.start(['listen', 'Killed', '--fetch', '--json'])
      const path = `/destinations/${await destinationOf(killed)}/requests`
      const other = { listener: 'other', waitSeconds: 0 }
      expect((await node.api('POST', `${path}/fetch`, other)).status).toBe(409)
      killed.process.kill('SIGKILL')
      await until('others may fetch', async () => (await node.api('POST', `${path}/fetch`, other)).status === 200)
    })

    it('ends after the first event and leaves nothing behind, where that is asked for', async () => {
      const source = await node.createSource('Brief afar')
      await using brief = shell.start(['listen', 'Brief afar', '--fetch', '--once', '--remove'])
      await brief.line('Receiving events of Brief afar')
      await node.post('/track', source.writeKey, { userId: 'u1', event: 'The only one' })
      const { code, stdout, stderr } = await brief.ended
      expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('The only one') as string })
      expect(stderr).toMatch(/^\S.* is deleted\.\n$/)
      const { items } = (await node.api<{ items: Destination[] }>('GET', '/destinations')).body
      expect(items.filter(({ sourceIds }) => sourceIds.includes(source.id))).toEqual([])
    })
  })
})
