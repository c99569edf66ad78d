/** Each kind of alert on a whole node: it begins, is told once, and is over. */

import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { AlertPreview } from '../../src/schemas/alert.ts'
import type { Source } from '../../src/schemas/source.ts'
import { createAudience, ended, start, upload, uploadAndSync } from '../audiences/setup.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { startReceiver, type Receiver } from '../support/receiver.ts'
import { startTcpRelay } from '../support/tcp-relay.ts'
import { temporalAddress } from '../support/temporal.ts'
import { until } from '../support/wait.ts'
import { addChannel, alertsOf, changesOf, limitMs, noRules, setRules, toldTo, untilAlert } from './alerts.ts'

const timeout = 240_000

let node: TestApp
let webhook: Receiver
beforeAll(async () => {
  node = await startTestApp()
})
afterAll(() => node[Symbol.asyncDispose]())
beforeEach(async ({ onTestFinished }) => {
  webhook = await startReceiver()
  const { body: channel } = await addChannel(node, 'Hook', { kind: 'webhook', url: webhook.url })
  onTestFinished(async () => {
    await setRules(node, noRules)
    await node.api('DELETE', `/alert-channels/${channel.id}`)
    await webhook.close()
  })
})

const untilTold = (subject: string, changes: string[]) =>
  until(`told of ${subject}: ${changes.join()}`, () => changesOf(webhook, subject).length >= changes.length, limitMs)

/** An endpoint of its own, and how it gets events. */
async function endpointOf(receiver: Receiver, name: string) {
  const source = await node.createSource(name)
  const destination = await node.connect([source], [receiver.url], { name })
  const send = (count: number) =>
    node.post('/batch', source.writeKey, {
      batch: Array.from({ length: count }, () => ({ type: 'track', userId: 'u1', event: 'E' })),
    })
  return { source, destination, endpointId: destination.settings.webhooks[0]?.id ?? '', send }
}

const untilAllOver = (subject: string) =>
  until(
    `all alerts of ${subject} are over`,
    async () => (await alertsOf(node, subject)).every(({ closedAt }) => closedAt !== null),
    limitMs,
  )

/** An open alert of its endpoint ends, and there is another one afterwards. */
async function pauseMeanwhile({ id }: { id: string }, endpointId: string): Promise<void> {
  await node.api('PATCH', `/destinations/${id}`, { paused: true })
  expect(await untilAlert(node, endpointId, true)).toMatchObject({ closedReason: 'its destination was paused' })
  await node.api('PATCH', `/destinations/${id}`, { paused: false })
  await untilAlert(node, endpointId, false)
}

it('an endpoint fails often, until the share is below half of what began it', { timeout }, async () => {
  await using receiver = await startReceiver()
  receiver.answer({ status: 400 })
  await setRules(node, { ...noRules, endpointFailedPercent: 100 })
  const { destination, endpointId, send } = await endpointOf(receiver, 'Refusing')
  await send(20)
  expect(await untilAlert(node, endpointId, false)).toMatchObject({
    kind: 'endpoint_failing_often',
    reason: '20 of 20 attempts failed within 60 min',
  })
  await pauseMeanwhile(destination, endpointId)
  receiver.answer({})
  await send(30)
  await untilAllOver(endpointId)
  await untilTold(endpointId, ['opened', 'closed', 'opened', 'closed'])
  expect(changesOf(webhook, endpointId).sort()).toEqual(['closed', 'closed', 'opened', 'opened'])
})

it('an endpoint is down, and up again', { timeout }, async () => {
  await using receiver = await startReceiver()
  receiver.answer({ status: 503 })
  await setRules(node, { ...noRules, endpointDown: true })
  const { destination, endpointId, send } = await endpointOf(receiver, 'Down')
  await send(60)
  expect(await untilAlert(node, endpointId, false)).toMatchObject({
    kind: 'endpoint_down',
    path: `/destinations/${destination.id}`,
    reason: expect.stringContaining('only probes are sent to it') as string,
  })
  await pauseMeanwhile(destination, endpointId)
  receiver.answer({})
  await send(1)
  await untilAllOver(endpointId)
  await untilTold(endpointId, ['opened', 'closed', 'opened', 'closed'])
  expect(changesOf(webhook, endpointId).sort()).toEqual(['closed', 'closed', 'opened', 'opened'])
})

it('a sync waits to be confirmed, fails, and one completes again', { timeout }, async () => {
  await using receiver = await startReceiver()
  const { destination } = await endpointOf(receiver, 'Synced')
  const audience = await createAudience(node, [destination.id], { name: 'Watched' })
  await setRules(node, { ...noRules, syncFailed: true })
  expect(await uploadAndSync(node, audience, ['u1', 'u2', 'u3', 'u4'])).toMatchObject({ status: 'completed' })
  const refused = await uploadAndSync(node, audience, ['u1'])
  expect(await untilAlert(node, audience.id, false, 'sync_refused')).toMatchObject({
    name: 'Watched',
    path: `/audiences/${audience.id}`,
    reason: refused.reason,
  })
  await start(node, audience, `syncs/${refused.id}/confirm`)
  await untilAlert(node, audience.id, true, 'sync_refused')

  const failed = await ended(node, audience, await upload(node, audience, '{ no row\n'))
  expect(failed).toMatchObject({ status: 'failed' })
  await untilAlert(node, audience.id, false, 'sync_failed')
  // Another one that fails is no change.
  await ended(node, audience, await upload(node, audience, '{ no row\n'))
  await uploadAndSync(node, audience, ['u1', 'u2'])
  await untilAlert(node, audience.id, true, 'sync_failed')
  await untilTold(audience.id, ['opened', 'closed', 'opened', 'closed'])
  expect(changesOf(webhook, audience.id, 'sync_refused').sort()).toEqual(['closed', 'opened'])
  expect(changesOf(webhook, audience.id, 'sync_failed').sort()).toEqual(['closed', 'opened'])

  await ended(node, audience, await upload(node, audience, '{ no row\n'))
  await untilAlert(node, audience.id, false, 'sync_failed')
  await node.api('DELETE', `/audiences/${audience.id}`)
  const reasons = async () => (await alertsOf(node, audience.id)).map(({ closedReason }) => closedReason)
  await until('it ended with the audience', async () => (await reasons())[0] === 'it was removed', limitMs)
  expect(await reasons()).toEqual(['it was removed', null, null])
})

it('an audience changed its size, each time, and the first sync is none', { timeout }, async () => {
  await using receiver = await startReceiver()
  const { destination } = await endpointOf(receiver, 'Resized')
  const audience = await createAudience(node, [destination.id], { name: 'Growing' })
  await setRules(node, { ...noRules, audienceResizedPercent: 50 })
  await uploadAndSync(node, audience, ['u1', 'u2'])
  await uploadAndSync(node, audience, ['u1', 'u2', 'u3'])
  await uploadAndSync(node, audience, ['u1', 'u2', 'u3', 'u4', 'u5'])
  expect(await untilAlert(node, audience.id, false)).toMatchObject({
    kind: 'audience_resized',
    reason: 'a sync changed it from 3 to 5 members',
  })
  await uploadAndSync(node, audience, ['u1', 'u2', 'u3', 'u4', 'u5', 'u6', 'u7', 'u8'])
  const second = async () => (await alertsOf(node, audience.id)).find(({ reason }) => reason.includes('from 5 to 8'))
  await until('the second is open', second, limitMs)
  await untilTold(audience.id, ['opened', 'opened'])
  expect(changesOf(webhook, audience.id)).toEqual(['opened', 'opened'])
  expect(await alertsOf(node, audience.id)).toHaveLength(2)
})

it('a write key and a secret that were replaced are about to end', { timeout }, async () => {
  const source = await node.createSource('Rotated')
  const destination = await node.connect([source], ['http://127.0.0.1:9/in'], {
    name: 'Signed',
    sharedSecret: 'first-secret',
  })
  await setRules(node, { ...noRules, keyEndingWithinSeconds: 86_400 })
  const rotate = (overlapSeconds: number) =>
    node.api<Source>('POST', `/sources/${source.id}/rotate-key`, { overlapSeconds })
  const replaceSecret = (sharedSecret: string, secretOverlapSeconds: number) =>
    node.api('PATCH', `/destinations/${destination.id}`, { settings: { sharedSecret, secretOverlapSeconds } })
  await rotate(3_600)
  await replaceSecret('second-secret', 3_600)
  const ofKey = await untilAlert(node, source.id, false)
  expect(ofKey).toMatchObject({ kind: 'key_ending', name: 'Rotated', path: `/sources/${source.id}` })
  expect(await untilAlert(node, destination.id, false)).toMatchObject({ kind: 'key_ending', name: 'Signed' })
  await untilTold(source.id, ['opened'])
  await untilTold(destination.id, ['opened'])

  // Another end of a key is another alert.
  await node.api('DELETE', `/sources/${source.id}/previous-keys`)
  await rotate(7_200)
  const other = async () => (await alertsOf(node, source.id)).find(({ id }) => id !== ofKey.id)
  await until('the other one is open', other, limitMs)
  await replaceSecret('third-secret', 0)
  await untilAlert(node, destination.id, true)
  await untilTold(source.id, ['opened', 'closed', 'opened'])
  await untilTold(destination.id, ['opened', 'closed'])
  expect(JSON.stringify(toldTo(webhook))).not.toMatch(/-secret/)
  await rotate(0)
  await untilAlert(node, source.id, true)
})

it('an event waits in the inbox while Temporal is away, and is taken', { timeout }, async () => {
  await using relay = await startTcpRelay(Number(temporalAddress().split(':')[1]))
  await using apart = await startTestApp({ environment: { TEMPORAL_ADDRESS: `127.0.0.1:${relay.port}` } })
  await addChannel(apart, 'Hook', { kind: 'webhook', url: webhook.url })
  await setRules(apart, { ...noRules, inboxOlderThanSeconds: 1 })
  await using receiver = await startReceiver()
  const source = await apart.createSource()
  await apart.connect([source], [receiver.url])
  relay.shut()
  const sent = () => apart.post('/track', source.writeKey, { messageId: 'waits', userId: 'u1', event: 'E' })
  await until('it is taken without Temporal', async () => (await sent()).status === 200, limitMs)
  expect(await untilAlert(apart, 'inbox', false)).toMatchObject({
    kind: 'inbox_old',
    path: '/deliveries?status=queued',
  })
  expect(changesOf(webhook, 'inbox')).toEqual([])
  relay.open()
  await receiver.received(1, limitMs)
  await untilAlert(apart, 'inbox', true)
  await untilTold('inbox', ['opened', 'closed'])
  expect(changesOf(webhook, 'inbox').sort()).toEqual(['closed', 'opened'])
})

it('is over without a word where its rule is switched off', { timeout }, async () => {
  const endingKey = async (name: string) => {
    const { id } = await node.createSource(name)
    await node.api('POST', `/sources/${id}/rotate-key`, { overlapSeconds: 3_600 })
    return id
  }
  const keyEnding = { ...noRules, keyEndingWithinSeconds: 7_200 }
  await setRules(node, keyEnding)
  const unwanted = await endingKey('Unwanted')
  await untilTold(unwanted, ['opened'])
  await setRules(node, noRules)
  expect(await alertsOf(node, unwanted)).toMatchObject([{ closedAt: expect.any(String) as string }])
  await node.api('DELETE', `/sources/${unwanted}/previous-keys`)
  // What is told after it shows that it had its turn.
  await setRules(node, keyEnding)
  const other = await endingKey('Other')
  await untilTold(other, ['opened'])
  expect(changesOf(webhook, unwanted)).toEqual(['opened'])
})

it('shows what would be open with other rules, and saves and tells nothing', { timeout }, async () => {
  const source = await node.createSource('Previewed')
  await node.api('POST', `/sources/${source.id}/rotate-key`, { overlapSeconds: 3_600 })
  const rules = { ...noRules, keyEndingWithinSeconds: 7_200 }
  const preview = (body: object) => node.api<AlertPreview>('POST', '/alert-rules/preview', body)
  const ofSource = { kind: 'key_ending', subject: source.id, name: 'Previewed', path: `/sources/${source.id}` }
  const shown = (await preview(rules)).body.items.filter(({ subject }) => subject === source.id)
  expect(shown).toMatchObject([ofSource])
  expect((await preview(noRules)).body).toEqual({ items: [] })
  expect((await node.api('GET', '/alert-rules')).body).toEqual(noRules)
  for (const wrong of [
    { keyEndingWithinSeconds: 30 * 86_400 + 1 },
    { endpointFailedPercent: 101 },
    { endpointFailedMinutes: 61 },
    { audienceResizedPercent: 0 },
  ]) {
    const refusal = { status: 400, body: { path: Object.keys(wrong)[0] } }
    expect(await preview({ ...noRules, ...wrong })).toMatchObject(refusal)
    expect(await setRules(node, { ...noRules, ...wrong })).toMatchObject(refusal)
  }
  expect(await alertsOf(node, source.id)).toEqual([])
})
