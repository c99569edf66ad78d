/** Sealing what Temporal has of a user's events with the user's own keys, beneath the encryption of all payloads: once the keys are
 *  destroyed, nobody can read it. */

import { hash } from 'node:crypto'
import { notifiedRequestOf } from '../contracts/deletions.ts'
import type { DeliverEventInput, HeldEventInput } from '../contracts/delivery.ts'
import { namedUsers } from '../contracts/named-users.ts'
import {
  isSealedMessage,
  type HeldMessage,
  type MessageContent,
  type OpenMessage,
} from '../contracts/sealed-message.ts'
import type { MessageBody } from '../schemas/message.ts'
import { AppError } from '../errors.ts'
import { open, seal } from '../secrets.ts'
import { createRecentValues } from './recent-values.ts'

export interface DataKey {
  id: string
  key: Buffer
}

/** Where the keys are. */
export interface DataKeys {
  /** The keys of some users, in their order, made where there are none; undefined while the database does not answer. */
  ofUsers(users: readonly { sourceId: string; userId: string }[]): Promise<DataKey[] | undefined>
  /** Keys by their ids, at once where they are in memory; undefined when one was destroyed.
   *  @throws AppError unavailable while the database does not answer, or the ring does not have their key */
  byIds(ids: readonly string[]): DataKey[] | Promise<DataKey[] | undefined>
}

/** Seals a value with the keys of all users of one event.
 *  @param isOpenedSoon  it is kept as it is for some seconds as well, so that a first attempt on this node need not open it */
export type SealForUsers = (value: unknown, isOpenedSoon?: boolean) => string

export interface SealedMessages {
  /** To be called once, before anything is sealed. */
  use(keys: DataKeys): void
  /** How each of these events is sealed; undefined for one that speaks of no user, and while the database does not answer: it is encrypted
   *  with the key ring alone then. */
  sealsFor(events: readonly SealableEvent[]): Promise<(SealForUsers | undefined)[]>
  /** The same for what tells of one user without being an event. */
  sealFor(user: { sourceId: string; userId: string }): Promise<SealForUsers | undefined>
  /** What was sealed; undefined when a key was destroyed.
   *  @throws AppError unavailable as `DataKeys.byIds` */
  open(sealed: string): Promise<unknown>
  /** The same of a message, at once where its keys are in memory. */
  openMessage(sealed: string): OpenMessage | undefined | Promise<OpenMessage | undefined>
}

export interface SealableEvent {
  sourceId: string
  message: MessageBody
  /** Id of its delivery. */
  deliveryId: string
}

export function createSealedMessages(): SealedMessages {
  let dataKeys: DataKeys | undefined
  const recent = createRecentValues()

  const sealWith = (keys: readonly DataKey[]): SealForUsers => {
    const { sealJson } = boxOf(keys)
    return (value, isOpenedSoon) => {
      const sealed = sealJson(JSON.stringify(value))
      if (isOpenedSoon) recent.note(sealed, value)
      return sealed
    }
  }
  const openWith = (sealed: string, keys: readonly DataKey[]): OpenMessage => {
    const { sealJson, openJson } = boxOf(keys)
    return { content: (recent.find(sealed) ?? JSON.parse(openJson(sealed))) as MessageContent, sealJson }
  }
  /** What is remembered counts only while its keys are there, too. */
  const openMessage: SealedMessages['openMessage'] = (sealed) => {
    const names = sealed.slice(0, Math.max(0, sealed.indexOf(':')))
    const keys = dataKeys?.byIds(names.split(','))
    if (keys instanceof Promise) return keys.then((found) => found && openWith(sealed, found))
    return keys && openWith(sealed, keys)
  }
  return {
    use(keys) {
      dataKeys = keys
    },
    async sealsFor(events) {
      const owners = events.map(ownersOf)
      const all = owners.flat()
      const found = all.length === 0 ? undefined : await dataKeys?.ofUsers(all)
      if (found === undefined) return events.map(() => undefined)
      let next = 0
      return owners.map(({ length }) => (length === 0 ? undefined : sealWith(found.slice(next, (next += length)))))
    },
    async sealFor(user) {
      const keys = await dataKeys?.ofUsers([user])
      return keys && sealWith(keys)
    },
    open: async (sealed) => (await openMessage(sealed))?.content,
    openMessage,
  }
}

/** The users that an event speaks of. A notification of a deletion has a key that all notifications of its request share. */
export function ownersOf({ sourceId, message, deliveryId }: SealableEvent): { sourceId: string; userId: string }[] {
  const requestId = notifiedRequestOf(deliveryId)
  if (requestId !== undefined) return [{ sourceId: requestId, userId: '' }]
  return [...new Set(namedUsers(message))].map((userId) => ({ sourceId, userId }))
}

/** Seals JSON with the keys of one event's users, and opens what was sealed so. */
interface Box {
  /** @returns names of the keys, then the sealed bytes */
  sealJson: (json: string) => string
  /** @throws when it was changed, or sealed with other keys */
  openJson: (sealed: string) => string
}

/** What was made of a key serves all events of its user, for as long as the key itself is in memory. */
const boxes = new WeakMap<DataKey, Box>()

function boxOf(keys: readonly DataKey[]): Box {
  const [key, ...others] = keys
  if (key === undefined || others.length > 0) return newBox(keys)
  const known = boxes.get(key)
  if (known !== undefined) return known
  const box = newBox(keys)
  boxes.set(key, box)
  return box
}

/** Of several keys each is needed: an event that speaks of two users is gone with either of them. */
function newBox(keys: readonly DataKey[]): Box {
  const names = keys.map(({ id }) => id).join(',')
  const purpose = Buffer.from(names)
  const key = hash('sha256', Buffer.concat(keys.map((one) => one.key)), 'buffer')
  return {
    sealJson: (json) => `${names}:${seal(key, purpose, json).toString('base64')}`,
    openJson: (sealed) => open(key, purpose, Buffer.from(sealed.slice(names.length + 1), 'base64')).toString(),
  }
}

/** What Temporal gets in the place of an event. @param name  in the place of its message id */
export const heldInput = (input: DeliverEventInput, seal: SealForUsers | undefined, name: string): HeldEventInput =>
  seal === undefined ? input : { ...input, messageId: name, message: heldMessage(input, seal) }

export const heldMessage = ({ messageId, message }: MessageContent, seal: SealForUsers | undefined): HeldMessage =>
  seal === undefined
    ? message
    : { type: message.type, sealed: seal({ messageId, message } satisfies MessageContent, true) }

/** An event with its message open; undefined when its user was erased.
 *  @throws AppError unavailable as `SealedMessages.open` */
export async function openInput<Input extends { messageId: string; message: HeldMessage }>(
  messages: Pick<SealedMessages, 'open'>,
  input: Input,
): Promise<(Omit<Input, 'message'> & MessageContent) | undefined> {
  const { message } = input
  if (!isSealedMessage(message)) return { ...input, message }
  const content = (await messages.open(message.sealed)) as MessageContent | undefined
  return content && { ...input, ...content }
}

/** What answers an order to send an event whose user was erased. */
export const erased = (): AppError =>
  new AppError('erased', 'the user of this event was deleted, and its data erased: nothing is left that could be sent')

/** @throws AppError erased */
export function refuseErased(isErased: boolean): void {
  if (isErased) throw erased()
}
