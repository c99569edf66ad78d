/** Messages sealed with the keys of their users: they open while all of these keys are there, and not a moment longer. */

import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { MessageBody } from '../../src/schemas/message.ts'
import { createRecentValues } from '../../src/temporal/recent-values.ts'
import { createSealedMessages, heldMessage, type DataKey } from '../../src/temporal/sealed-messages.ts'

/** Keys as a node has them, some of them destroyed. */
function keysOf() {
  const keys = new Map<string, DataKey>()
  const make = (userId: string): DataKey => {
    const key = keys.get(userId) ?? { id: `key_${userId}`, key: randomBytes(32) }
    keys.set(userId, key)
    return key
  }
  return {
    ofUsers: async (users: readonly { userId: string }[]) => users.map(({ userId }) => make(userId)),
    byIds(ids: readonly string[]) {
      const found = ids.flatMap((id) => [...keys.values()].find((key) => key.id === id) ?? [])
      return found.length === ids.length ? found : Promise.resolve(undefined)
    },
    destroy: (userId: string) => keys.delete(userId),
  }
}

const track = { version: 1, type: 'track', userId: 'one', event: 'E', timestamp: '', context: {} } as MessageBody
const alias = {
  version: 1,
  type: 'alias',
  userId: 'one',
  'Previous ID': 'two',
  timestamp: '',
  context: {},
} as MessageBody

async function sealed(message: MessageBody) {
  const [node, other, keys] = [createSealedMessages(), createSealedMessages(), keysOf()]
  for (const messages of [node, other]) messages.use(keys)
  const [seal] = await node.sealsFor([{ sourceId: 's', message, deliveryId: 'event/s/m' }])
  const held = heldMessage({ messageId: 'm', message }, seal)
  if (!('sealed' in held)) throw new Error('it is in clear')
  return { keys, node, other, text: held.sealed as string }
}

describe('a message that is sealed', () => {
  it.each([track, alias])('opens on the node that sealed it, and on others', async (message) => {
    const { node, other, text } = await sealed(message)
    for (const messages of [node, other]) expect(await messages.open(text)).toEqual({ messageId: 'm', message })
  })

  it('is gone with any of its keys, at once, also where it was sealed a moment ago', async () => {
    const { keys, node, other, text } = await sealed(alias)
    expect(await node.open(text)).toBeDefined()
    keys.destroy('two')
    for (const messages of [node, other]) expect(await messages.open(text)).toBeUndefined()
  })

  it('seals evidence with the same keys', async () => {
    const { keys, node, other, text } = await sealed(track)
    const evidence = (await node.openMessage(text))?.sealJson('{"status":200}') ?? ''
    expect(await other.open(evidence)).toEqual({ status: 200 })
    keys.destroy('one')
    expect(await other.open(evidence)).toBeUndefined()
  })

  it('does not open where it was changed', async () => {
    const { node, text } = await sealed(track)
    const changed = `${text.slice(0, -6)}${text.at(-6) === 'A' ? 'B' : 'A'}${text.slice(-5)}`
    await expect(node.open(changed)).rejects.toThrow()
  })
})

it('values that were sealed long ago are let go as others come', () => {
  const recent = createRecentValues()
  const text = (n: number): string => `${n}:`.padEnd(1_000_000, 'x')
  for (let n = 0; n < 20; n++) recent.note(text(n), n)
  expect(recent.find(text(19))).toBe(19)
  expect(recent.find(text(0))).toBeUndefined()
})
