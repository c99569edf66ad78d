/** A payload as an operator may read it: open, and with what is sealed for the users of an event open, too. */

import { defaultPayloadConverter } from '@temporalio/common'
import { isSealedMessage, type HeldMessage } from '../contracts/sealed-message.ts'
import type { Temporal } from './connection.ts'
import { decode } from './opened.ts'
import type { Payload } from './sealed-payloads.ts'
import type { SealedMessages } from './sealed-messages.ts'

/** What stands in the place of an event whose user was erased. */
const erasedMark = { erased: true }

/** @throws AppError as opening a payload and `SealedMessages.open` do */
export async function payloadInClear(
  { payloads, messages }: Pick<Temporal, 'payloads' | 'messages'>,
  sealed: Payload,
): Promise<Payload> {
  const payload = payloads.open(sealed)
  // Nearly all that is asked for holds nothing of the kind, and is not to be read and written again.
  if (!Buffer.from(payload.data ?? []).includes('"sealed"')) return payload
  return defaultPayloadConverter.toPayload(await inClear(messages, decode(payload)))
}

async function inClear(messages: Pick<SealedMessages, 'open'>, value: unknown): Promise<unknown> {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return Promise.all(value.map((entry) => inClear(messages, entry)))
  const { sealed, message } = value as { sealed?: unknown; message?: HeldMessage | null }
  // The names of an event in the memo of its workflow.
  if (typeof sealed === 'string') return (await messages.open(sealed)) ?? erasedMark
  const { message: _, ...others } = value as Record<string, unknown>
  const entries = Object.entries(others).map(async ([name, member]) => [name, await inClear(messages, member)] as const)
  const clear = Object.fromEntries(await Promise.all(entries))
  if (typeof message !== 'object' || message === null) return message === undefined ? clear : { ...clear, message }
  // What a source wrote is not looked into.
  if (!isSealedMessage(message)) return { ...clear, message }
  // It is sealed together with its id, of which a hash stands beside it.
  return { ...clear, ...((await messages.open(message.sealed)) ?? { message: { type: message.type, ...erasedMark } }) }
}
