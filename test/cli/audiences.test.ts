import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Audience, Sync } from '../../src/schemas/audience.ts'
import { startTestApp } from '../support/app.ts'
import { startReceiver, type ReceivedRequest } from '../support/receiver.ts'
import { openShell } from './command.ts'

it('makes an audience, uploads, previews, syncs and takes back', async () => {
  await using node = await startTestApp()
  await using shell = await openShell(node.url)
  await using receiver = await startReceiver()
  await node.connect([], [receiver.url])
  const members = join(shell.folder, 'members.csv')
  await writeFile(members, 'userId\nu1\nu2\nu3\n')

  const made = await shell.json<Audience>(['audiences', 'create', 'Big spenders', '--destination', 'Test destination'])
  expect(made).toMatchObject({ key: 'big_spenders', membership: { kind: 'push' } })
  const preview = await shell.json(['audiences', 'preview', 'Big spenders', members])
  expect(preview).toMatchObject({ rowsRead: 3, destinations: [{ added: 3, removed: 0 }] })
  expect(receiver.requests).toHaveLength(0)

  const uploaded = await shell.json<Sync>(['audiences', 'upload', 'Big spenders', members])
  expect(uploaded).toMatchObject({ kind: 'upload', status: 'completed', added: 3, sent: 3 })
  const traitsOf = ({ body }: ReceivedRequest) => {
    const { userId, traits } = JSON.parse(body.toString()) as { userId: string; traits: unknown }
    return { userId, traits }
  }
  const first = (await receiver.received(3)).map(traitsOf)
  expect(first).toEqual(
    expect.arrayContaining(['u1', 'u2', 'u3'].map((userId) => ({ userId, traits: { big_spenders: true } }))),
  )

  // From standard input, when there is no name that tells the format.
  const fewer = await shell.run(['audiences', 'upload', 'Big spenders', '-', '--format', 'ndjson', '--json'], {
    input: '{"userId":"u1"}\n{"userId":"u2"}\n',
  })
  expect(JSON.parse(fewer.stdout)).toMatchObject({ status: 'completed', removed: 1, unchanged: 2 })
  expect((await receiver.received(4)).slice(3).map(traitsOf)).toEqual([
    { userId: 'u3', traits: { big_spenders: false } },
  ])

  const undone = await shell.json<Sync>(['audiences', 'undo', 'Big spenders'])
  expect(undone).toMatchObject({ kind: 'undo', status: 'completed' })
  expect((await receiver.received(5)).slice(4).map(traitsOf)).toEqual([
    { userId: 'u3', traits: { big_spenders: true } },
  ])

  // One that removes nearly all is refused until it is confirmed.
  await writeFile(members, 'userId\nu1\n')
  const refused = await shell.run(['audiences', 'upload', 'Big spenders', members, '--json'])
  expect(refused.code).toBe(1)
  expect(JSON.parse(refused.stdout)).toMatchObject({ status: 'refused' })
  expect(await shell.json(['audiences', 'confirm', 'Big spenders'])).toMatchObject({ status: 'completed', removed: 2 })

  expect(await shell.json(['audiences', 'resync', made.id])).toMatchObject({ kind: 'resync', status: 'completed' })
  const syncs = await shell.run(['audiences', 'syncs', 'Big spenders'])
  expect(syncs.stdout).toMatch(/resync +completed/)
  expect((await shell.run(['audiences', 'upload', 'Big spenders', '/none/members.txt'])).code).toBe(2)
  expect(await shell.json(['audiences', 'pause', made.id])).toMatchObject({ paused: true })
  expect(await shell.json(['audiences', 'delete', made.id, '--yes'])).toMatchObject({ deleted: made.id })
})
