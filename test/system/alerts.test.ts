/** Alerts on a whole node: opened and closed once, told to a webhook, to Slack and by e-mail, and kept. */

import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Alert, AlertChannel } from '../../src/schemas/alert.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startMailServer } from '../support/mail-server.ts'
import { findPostgres } from '../support/postgres.ts'
import { startReceiver } from '../support/receiver.ts'
import { startSharedParts } from '../support/shared-parts.ts'
import { until } from '../support/wait.ts'
import { addChannel, alertsOf, changesOf, failing, limitMs, noRules, setRules, toldTo, untilAlert } from './alerts.ts'

const timeout = 240_000

interface ToldBody {
  change: string
  closedAt: string | null
}

const atOnce = { ...noRules, endpointFailingAfterSeconds: 1, destinationHeld: true }

describe('one node', () => {
  let node: TestApp
  beforeAll(async () => {
    node = await startTestApp()
  })
  afterAll(() => node[Symbol.asyncDispose]())

  it('tells a webhook, Slack and by e-mail that an endpoint fails, and that it works again', { timeout }, async () => {
    await using webhook = await startReceiver()
    await using slack = await startReceiver()
    await using mail = await startMailServer()
    await using receiver = await startReceiver()
    slack.answerInTurn({ status: 503 }, {})
    const channels = [
      await addChannel(node, 'Hook', { kind: 'webhook', url: `${webhook.url}/alerts`, sharedSecret: 'hook-secret' }),
      await addChannel(node, 'Slack', { kind: 'slack', url: `${slack.url}/services/slack-secret` }),
      await addChannel(node, 'Mail', {
        kind: 'email',
        smtpUrl: mail.url,
        from: 'postrider@example.com',
        to: ['one@example.com', 'two@example.com'],
      }),
    ]
    await setRules(node, atOnce)
    const { endpointId, destination } = await failing(node, receiver, 'CRM')
    const open = await untilAlert(node, endpointId, false)
    expect(open).toMatchObject({ kind: 'endpoint_failing', path: `/destinations/${destination.id}`, mutedUntil: null })
    expect(JSON.stringify(open)).not.toContain('secret-token')
    const openAlerts = async (): Promise<string | undefined> =>
      /^postrider_alerts_open (\d+)$/m.exec(await (await fetch(`${node.url}/metrics`)).text())?.[1]
    expect(await openAlerts()).toBe('1')

    const [request] = await webhook.received(1)
    const body = request?.body.toString() ?? ''
    const link = `https://postrider.example.com/destinations/${destination.id}`
    expect(JSON.parse(body)).toMatchObject({ type: 'alert', id: open.id, change: 'opened', subject: endpointId, link })
    expect(request?.headers).toMatchObject({
      'webhook-id': `${open.id}-opened`,
      'x-signature': createHmac('sha1', 'hook-secret').update(body).digest('hex'),
    })
    // It is told again until it takes it.
    const told = await slack.received(2)
    expect(JSON.parse(told[1]?.body.toString() ?? '')).toEqual({ text: expect.stringContaining(link) as string })
    await until('an e-mail came', () => mail.mails.length > 0, limitMs)
    expect(mail.mails[0]).toMatch(/^Subject: \[Postrider\] An endpoint fails: CRM/m)
    expect(mail.mails[0]).toContain('To: one@example.com, two@example.com')

    receiver.answer({})
    await untilAlert(node, endpointId, true)
    await until('it was told that it is over', () => changesOf(webhook, endpointId).includes('closed'), limitMs)
    await until('no alert is open any more', async () => (await openAlerts()) === '0', limitMs)
    await until('by e-mail, too', () => mail.mails.some((one) => one.includes('An endpoint works again')), limitMs)
    expect(changesOf(webhook, endpointId)).toEqual(['opened', 'closed'])

    const { body: listed } = await node.api<{ items: AlertChannel[] }>('GET', '/alert-channels')
    expect(JSON.stringify(listed)).not.toMatch(/hook-secret|slack-secret/)
    expect(listed.items.map(({ name, lastError }) => ({ name, lastError }))).toEqual(
      ['Hook', 'Slack', 'Mail'].map((name) => ({ name, lastError: null })),
    )
    for (const { body: channel } of channels)
      expect((await node.api('DELETE', `/alert-channels/${channel.id}`)).status).toBe(200)
  })

  it(
    'says of an alert that it is over, where a channel takes the news of its beginning only then',
    { timeout },
    async () => {
      await using webhook = await startReceiver()
      await using slack = await startReceiver()
      await using receiver = await startReceiver()
      for (const channel of [webhook, slack]) channel.answer({ status: 503 })
      const channels = [
        await addChannel(node, 'Hook', { kind: 'webhook', url: webhook.url }),
        await addChannel(node, 'Slack', { kind: 'slack', url: slack.url }),
      ]
      await setRules(node, atOnce)
      const { endpointId } = await failing(node, receiver, 'Late')
      await untilAlert(node, endpointId, false)
      await Promise.all([webhook.received(1), slack.received(1)])
      receiver.answer({})
      const { closedAt } = await untilAlert(node, endpointId, true)
      const before = [webhook.requests.length, slack.requests.length]
      for (const channel of [webhook, slack]) channel.answer({})
      const opened = await until(
        'the webhook takes both',
        () => {
          const told = webhook.requests.slice(before[0]).map(({ body }) => JSON.parse(body.toString()) as ToldBody)
          return told.some(({ change }) => change === 'closed') && told.find(({ change }) => change === 'opened')
        },
        limitMs,
      )
      expect(opened.closedAt).toBe(closedAt)
      await until(
        'Slack gets both',
        () => {
          const texts = slack.requests.slice(before[1]).map(({ body }) => body.toString())
          const [begins, ends] = ['An endpoint fails', 'An endpoint works again'].map((text) =>
            texts.find((one) => one.includes(text)),
          )
          return ends !== undefined && begins?.includes(`It is over since ${closedAt}`)
        },
        limitMs,
      )
      for (const { body } of channels) await node.api('DELETE', `/alert-channels/${body.id}`)
    },
  )

  it('tells nothing of what is muted, and goes on with its history', { timeout }, async () => {
    await using webhook = await startReceiver()
    await using receiver = await startReceiver()
    await using other = await startReceiver()
    const { body: channel } = await addChannel(node, 'Hook', { kind: 'webhook', url: webhook.url })
    await setRules(node, atOnce)
    const { endpointId } = await failing(node, receiver, 'Muted')
    const { id } = await untilAlert(node, endpointId, false)
    await until('it was told', () => changesOf(webhook, endpointId).length === 1, limitMs)
    expect((await node.api<Alert>('POST', `/alerts/${id}/mute`, { seconds: 3_600 })).body.mutedUntil).not.toBeNull()
    receiver.answer({})
    await untilAlert(node, endpointId, true)
    // What is told after it shows that it had its turn.
    const beside = await failing(node, other, 'Beside')
    await until('the other one was told', () => changesOf(webhook, beside.endpointId).length === 1, limitMs)
    expect(changesOf(webhook, endpointId)).toEqual(['opened'])
    expect((await node.api<Alert>('POST', `/alerts/${id}/mute`, { seconds: 0 })).body.mutedUntil).toBeNull()
    await node.api('DELETE', `/alert-channels/${channel.id}`)
  })

  it('ends where a destination is paused or switched off, says so, and begins no more', { timeout }, async () => {
    await using webhook = await startReceiver()
    await using receiver = await startReceiver()
    const { body: channel } = await addChannel(node, 'Hook', { kind: 'webhook', url: webhook.url })
    await setRules(node, { ...atOnce, endpointFailingAfterSeconds: 2 })
    const { destination, endpointId } = await failing(node, receiver, 'Paused')
    const change = (patch: object) => node.api('PATCH', `/destinations/${destination.id}`, patch)
    const untilOver = (count: number) =>
      until(
        `${count} are over`,
        async () => {
          const alerts = await alertsOf(node, endpointId)
          return alerts.length === count && alerts.every(({ closedAt }) => closedAt !== null) && alerts
        },
        limitMs,
      )
    await untilAlert(node, endpointId, false)
    await change({ paused: true })
    expect(await untilOver(1)).toMatchObject([{ closedReason: 'its destination was paused' }])
    // What is told after it shows that it had its turn.
    await using other = await startReceiver()
    const beside = await failing(node, other, 'Beside')
    await untilAlert(node, beside.endpointId, false)
    expect(await alertsOf(node, endpointId)).toHaveLength(1)

    await change({ paused: false })
    await untilAlert(node, endpointId, false)
    await change({ enabled: false })
    expect((await untilOver(2))[0]).toMatchObject({ closedReason: 'its destination was switched off' })
    await node.api('DELETE', `/destinations/${beside.destination.id}`)
    expect(await untilAlert(node, beside.endpointId, true)).toMatchObject({ closedReason: 'it was removed' })
    await until('it was told', () => changesOf(webhook, beside.endpointId).length === 2, limitMs)
    const reasons = toldTo(webhook)
      .filter(({ subject, change: told }) => subject === endpointId && told === 'closed')
      .map(({ closedReason }) => closedReason)
    expect(reasons).toEqual(['its destination was paused', 'its destination was switched off'])
    await node.api('DELETE', `/alert-channels/${channel.id}`)
  })

  it('ends where an endpoint gets another URL, and says that nothing works again by that', { timeout }, async () => {
    await using receiver = await startReceiver()
    // It fails at the other one, too, and not for long enough when that is looked at.
    await setRules(node, { ...atOnce, endpointFailingAfterSeconds: 15 })
    const { destination, endpointId } = await failing(node, receiver, 'Moved')
    await untilAlert(node, endpointId, false)
    const settings = { webhooks: [{ id: endpointId, url: `${receiver.url}/moved` }] }
    await node.api('PATCH', `/destinations/${destination.id}`, { settings })
    expect(await untilAlert(node, endpointId, true)).toMatchObject({ closedReason: 'its URL was changed' })
  })

  it('lasts while its destination is held by itself, where probes fail', { timeout }, async () => {
    await using receiver = await startReceiver()
    await setRules(node, atOnce)
    const { destination, endpointId } = await failing(node, receiver, 'Held and failing')
    const { id } = await untilAlert(node, endpointId, false)
    await node.api('PATCH', `/destinations/${destination.id}`, { onFailing: 'hold', holdAfterSeconds: 1 })
    await untilAlert(node, destination.id, false)
    // What is told after it shows that it had its turn.
    await using other = await startReceiver()
    const beside = await failing(node, other, 'Beside')
    await untilAlert(node, beside.endpointId, false)
    expect(await alertsOf(node, endpointId)).toMatchObject([{ id, closedAt: null }])
    await node.api('PATCH', `/destinations/${destination.id}`, { paused: true })
    expect(await untilAlert(node, endpointId, true)).toMatchObject({ closedReason: 'its destination was paused' })
    expect(await untilAlert(node, destination.id, true)).toMatchObject({ closedReason: 'it was paused' })
  })

  it('tells that a destination is held, and that it goes on', { timeout }, async () => {
    await using webhook = await startReceiver()
    await using receiver = await startReceiver()
    const { body: channel } = await addChannel(node, 'Hook', { kind: 'webhook', url: webhook.url })
    await setRules(node, { ...atOnce, endpointFailingAfterSeconds: null })
    const { destination } = await failing(node, receiver, 'Held')
    await node.api('PATCH', `/destinations/${destination.id}`, { onFailing: 'hold', holdAfterSeconds: 1 })
    expect(await untilAlert(node, destination.id, false)).toMatchObject({ kind: 'destination_held', name: 'Held' })
    receiver.answer({})
    await untilAlert(node, destination.id, true)
    await until('both were told', () => changesOf(webhook, destination.id).length === 2, limitMs)
    expect(changesOf(webhook, destination.id)).toEqual(['opened', 'closed'])
    await node.api('DELETE', `/alert-channels/${channel.id}`)
  })

  it('says at once whether a channel takes a test, and why not', { timeout }, async () => {
    await using slack = await startReceiver()
    slack.answer({ status: 404, body: 'no_service' })
    const { body: channel } = await addChannel(node, 'Gone', { kind: 'slack', url: slack.url })
    const test = () => node.api<{ outcome: string; error?: string }>('POST', `/alert-channels/${channel.id}/test`)
    expect((await test()).body).toMatchObject({ outcome: 'failed', error: expect.stringContaining('404') as string })
    slack.answer({})
    expect((await test()).body).toEqual({ outcome: 'told' })
    await node.api('DELETE', `/alert-channels/${channel.id}`)
  })

  it('changes a channel: what is left out stays, secrets too, and another kind must be whole', async () => {
    await using webhook = await startReceiver()
    const settings = { kind: 'webhook', url: `${webhook.url}/kept`, sharedSecret: 'hook-secret' } as const
    const { body: made } = await addChannel(node, 'Hook', settings)
    const path = `/alert-channels/${made.id}`
    const change = (body: object) => node.api<AlertChannel & { path?: string }>('PATCH', path, body)
    const told = async () => {
      const before = webhook.requests.length
      await node.api('POST', `${path}/test`)
      return (await webhook.received(before + 1))[before]
    }
    expect((await change({ name: 'Renamed' })).body).toMatchObject({
      name: 'Renamed',
      appUrl: 'https://postrider.example.com',
      settings: { kind: 'webhook', hasSharedSecret: true },
    })
    await change({ settings: { kind: 'webhook', sharedSecret: 'other-secret' }, appUrl: null })
    const signed = await told()
    expect(signed).toMatchObject({ path: '/kept' })
    const signature = createHmac('sha1', 'other-secret')
      .update(signed?.body ?? '')
      .digest('hex')
    expect(signed?.headers['x-signature']).toBe(signature)
    await change({ settings: { kind: 'webhook', url: `${webhook.url}/moved`, sharedSecret: null } })
    const unsigned = await told()
    expect(unsigned).toMatchObject({ path: '/moved' })
    expect(unsigned?.headers['x-signature']).toBeUndefined()

    const mail = { kind: 'email', from: 'a@example.com', to: ['b@example.com'] }
    expect(await change({ settings: mail })).toMatchObject({ status: 400, body: { path: 'settings.smtpUrl' } })
    const inside = { ...mail, smtpUrl: 'smtp://10.0.0.1' }
    expect(await change({ settings: inside })).toMatchObject({ status: 400, body: { path: 'settings.smtpUrl' } })
    expect(await change({ settings: { ...mail, smtpUrl: 'smtp://127.0.0.1' } })).toMatchObject({
      status: 200,
      body: { kind: 'email', target: 'b@example.com', settings: mail },
    })
    const [listed] = (await node.api<{ items: AlertChannel[] }>('GET', '/alert-channels')).body.items
    expect(listed).toMatchObject({ name: 'Renamed', appUrl: null, settings: mail })
    expect((await node.api('PATCH', '/alert-channels/none', { name: 'x' })).status).toBe(404)
    await node.api('DELETE', path)
  })

  it('refuses what is out of bounds, addresses that are not allowed too, and names the member', async () => {
    const refused = async (settings: object) =>
      (await node.api<{ path?: string }>('POST', '/alert-channels', { name: 'No', settings })).body.path
    expect(await refused({ kind: 'slack', url: 'http://10.0.0.1/x' })).toBe('settings.url')
    const email = { kind: 'email', smtpUrl: 'smtp://127.0.0.1', from: 'a@example.com', to: ['b@example.com'] }
    expect(await refused({ ...email, smtpUrl: 'smtp://10.0.0.1' })).toBe('settings.smtpUrl')
    expect(await refused({ ...email, smtpUrl: 'http://127.0.0.1' })).toBe('settings.smtpUrl')
    expect(await refused({ ...email, to: ['b@example.com\r\nBcc: c@example.com'] })).toBe('settings.to[0]')
    expect(await refused({ ...email, to: [] })).toBe('settings.to')
    expect((await setRules(node, { ...atOnce, inboxOlderThanSeconds: 0 })).status).toBe(400)
    expect((await node.api('POST', '/alerts/none/mute', { seconds: 1 })).status).toBe(404)
    const made: string[] = []
    for (let n = 0; n < 20; n++)
      made.push((await addChannel(node, `${n}`, { kind: 'slack', url: 'http://127.0.0.1:9' })).body.id)
    expect((await addChannel(node, 'one more', { kind: 'slack', url: 'http://127.0.0.1:9' })).status).toBe(409)
    for (const id of made) await node.api('DELETE', `/alert-channels/${id}`)
  })
})

const missing = findPostgres() === undefined
if (missing) console.warn('No PostgreSQL binaries here: alerts of two nodes are not tested.')

describe.skipIf(missing)('two nodes on one database', () => {
  it('tell once; what one saw the other tells', { timeout }, async () => {
    await using parts = await startSharedParts()
    await using webhook = await startReceiver()
    await using receiver = await startReceiver()
    await using other = await startReceiver()
    webhook.answer({ status: 503 })
    await using staying = await parts.start()
    const { endpointId } = await tellWithAnother()
    // The workflow goes on where the other node began it.
    webhook.answer({})
    const before = webhook.requests.length
    await webhook.received(before + 1, limitMs)
    receiver.answer({})
    await until('it was told that it is over', () => changesOf(webhook, endpointId).includes('closed'), limitMs)
    const beside = await failing(staying, other, 'Beside')
    await until('the next one was told', () => changesOf(webhook, beside.endpointId).length > 0, limitMs)
    const taken = toldTo({ ...webhook, requests: webhook.requests.slice(before) })
    const ofFirst = taken.filter(({ subject }) => subject === endpointId).map(({ change }) => change)
    expect(ofFirst).toEqual(['opened', 'closed'])
    expect(await alertsOf(staying, endpointId)).toHaveLength(1)

    /** Both look for alerts; the telling has begun and is not taken when the other one is gone. */
    async function tellWithAnother() {
      await using first = await parts.start()
      await addChannel(first, 'Hook', { kind: 'webhook', url: webhook.url })
      await setRules(first, atOnce)
      const made = await failing(first, receiver, 'CRM')
      await webhook.received(1, limitMs)
      return made
    }
  })
})
