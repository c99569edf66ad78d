/** A machine that no node reaches has a bad day: its network is cut, the node freezes and is killed, and so is its own `listen`. */

import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { findFreePorts } from '../../src/ports.ts'
import type { DeliveryDetail } from '../../src/schemas/delivery.ts'
import { openShell } from '../cli/command.ts'
import { makeDataFolder } from '../support/app.ts'
import { deliveryPath } from '../support/deliveries.ts'
import { startNodeProcess } from '../support/node-process.ts'
import { startReceiver } from '../support/receiver.ts'
import { startTcpRelay } from '../support/tcp-relay.ts'
import { createNamespace } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

it(
  'loses nothing on a bad day: network cut, node frozen, node killed, listener killed',
  { timeout: 600_000 },
  async () => {
    const dataDir = await makeDataFolder()
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
    const [port = 0] = await findFreePorts('127.0.0.1', 1)
    const options = { namespace: await createNamespace(), dataDir, environment: { PORT: String(port) } }
    let node = await startNodeProcess(options)
    onTestFinished(() => node.stop())
    await using way = await startTcpRelay(port)
    await using local = await startReceiver()
    await using shell = await openShell(`http://127.0.0.1:${way.port}`)
    const source = await node.createSource()
    const call = ['listen', source.id, '--fetch', '--forward-to', local.url]
    const countOf = (event: string): number =>
      local.requests.filter(({ body }) => (JSON.parse(body.toString()) as { event: string }).event === event).length
    const accepted: string[] = []
    const send = async (event: string): Promise<void> => {
      const { status } = await node.post('/track', source.writeKey, { userId: 'u1', event, messageId: event })
      if (status === 200) accepted.push(event)
    }
    const untilDelivered = (event: string): Promise<unknown> =>
      until(
        `${event} is delivered`,
        async () => {
          const { body } = await node.api<DeliveryDetail>('GET', deliveryPath(`event/${source.id}/${event}`))
          return body.status === 'delivered'
        },
        120_000,
      )
    const untilAllCame = (): Promise<unknown> =>
      until('all events came', () => accepted.every((event) => countOf(event) > 0), 180_000)

    await using listening = shell.start(call)
    let told = ''
    listening.process.stderr.on('data', (text: string) => (told += text))
    await listening.line('Receiving events')
    await send('before')
    // Its answer is with the node: a cut from here on does not touch it.
    await untilDelivered('before')

    way.shut()
    await send('while cut')
    await until('the cut is told', () => told.includes('; trying again.'))
    way.open()
    await untilAllCame()
    await until('its end is told', () => told.includes('The node answers again.'))

    process.kill(node.pid, 'SIGSTOP')
    const frozen = [send('frozen one'), send('frozen two')]
    await sleep(3_000)
    process.kill(node.pid, 'SIGCONT')
    await Promise.all(frozen)
    await untilAllCame()

    local.answer(({ body }) => (body.includes('in flight') && countOf('in flight') === 1 ? 'hang' : {}))
    await send('in flight')
    await until('it is forwarded', () => countOf('in flight') === 1)
    await node.kill()
    node = await startNodeProcess(options)
    await send('after the kill')
    await until('the one in flight came again', () => countOf('in flight') > 1, 180_000)
    await untilAllCame()

    listening.process.kill('SIGKILL')
    await listening.ended
    await send('unheard')
    await using again = shell.start([...call, '--json'])
    await again.line('"destinationId"')
    await send('heard')
    await untilAllCame()
    // An answer that did not reach the node in time is one that it asks for again, before all are done.
    for (const event of accepted) await untilDelivered(event)
    expect(accepted).toHaveLength(8)
    expect([countOf('before'), countOf('heard')]).toEqual([1, 1])
    const { stderr } = await again.interrupt()
    expect(stderr).toBe('')
    const { body } = await node.api<{ items: unknown[] }>('GET', '/destinations')
    expect(body.items).toHaveLength(1)
  },
)
