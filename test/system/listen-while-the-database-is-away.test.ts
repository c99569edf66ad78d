/** `listen` fetches its events beside a node whose PostgreSQL hangs, and then ends and comes back. */

import { rm } from 'node:fs/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openShell } from '../cli/command.ts'
import { makeDataFolder } from '../support/app.ts'
import { startNodeProcess } from '../support/node-process.ts'
import { findPostgres, startPostgres } from '../support/postgres.ts'
import { startReceiver } from '../support/receiver.ts'
import { createNamespace } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

const limitMs = 180_000

describe.skipIf(findPostgres() === undefined)('a listen that fetches', () => {
  it('loses nothing while the database hangs or is down, and tells of both', { timeout: 600_000 }, async () => {
    const postgres = await startPostgres()
    onTestFinished(async () => {
      postgres.thaw()
      await postgres.stop()
    })
    const dataDir = await makeDataFolder()
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }))
    const environment = { DATABASE_URL: await postgres.createDatabase() }
    const node = await startNodeProcess({ namespace: await createNamespace(), dataDir, environment })
    onTestFinished(() => node.stop())
    await using local = await startReceiver()
    await using shell = await openShell(node.url)
    const source = await node.createSource()

    const accepted: string[] = []
    const send = async (event: string): Promise<void> => {
      const { status } = await node.post('/track', source.writeKey, { userId: 'u1', event, messageId: event })
      if (status === 200) accepted.push(event)
    }
    const sendSome = (when: string): Promise<void[]> =>
      Promise.all(['one', 'two', 'three'].map((which) => send(`${which} ${when}`)))
    const untilAllCame = (): Promise<unknown> =>
      until(
        'all events came',
        () => {
          const came = local.requests.map(({ body }) => (JSON.parse(body.toString()) as { event: string }).event)
          return accepted.every((event) => came.includes(event))
        },
        limitMs,
      )

    await using listening = shell.start(['listen', source.id, '--fetch', '--forward-to', local.url])
    let told = ''
    listening.process.stderr.on('data', (text: string) => (told += text))
    const outages = (): number => told.match(/^The database is away: .*; trying again\.$/gm)?.length ?? 0
    const untilBack = (): Promise<unknown> =>
      until('the end is told', () => told.split('The node answers again.').length - 1 === outages(), limitMs)
    await listening.line('Receiving events')
    await sendSome('before')
    await untilAllCame()

    const goAndComeBack = async (when: string, go: () => Promise<void> | void, back: () => Promise<void> | void) => {
      const before = outages()
      await go()
      await until(`it is told ${when}`, () => outages() > before, limitMs)
      await sendSome(when)
      await back()
      await untilBack()
      await sendSome(`after ${when}`)
      await untilAllCame()
    }
    await goAndComeBack(
      'while frozen',
      () => postgres.freeze(),
      () => postgres.thaw(),
    )
    await goAndComeBack(
      'while down',
      () => postgres.halt(),
      () => postgres.resume(),
    )

    expect(accepted.length).toBeGreaterThan(3)
    await untilBack()
  })
})
