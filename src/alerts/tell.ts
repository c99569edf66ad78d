/** Tells one channel of one change of an alert. */

import type { AddressGuard } from '../delivery/guard-address.ts'
import { postMessage } from '../delivery/post-message.ts'
import type { Sender } from '../delivery/send.ts'
import type { AlertChannelSettings } from '../schemas/alert.ts'
import { bodyOf, messageIdOf, textOf, type ToldAlert } from './message.ts'
import { sendEmail } from './send-email.ts'

/** What came of it: `refused` would end the same way another time. */
export type Telling = { kind: 'told' } | { kind: 'failed' | 'refused'; reason: string }

export interface TellDependencies {
  sender: Sender
  guard: AddressGuard
}

export async function tell(
  { sender, guard }: TellDependencies,
  settings: AlertChannelSettings,
  told: ToldAlert,
): Promise<Telling> {
  if (settings.kind === 'email')
    return sendEmail(guard, settings, told).then(
      () => ({ kind: 'told' as const }),
      (error: Error) => ({ kind: 'failed' as const, reason: error.message }),
    )
  const secret = settings.kind === 'webhook' ? settings.sharedSecret : undefined
  const outcome = await postMessage(sender, {
    messageId: messageIdOf(told),
    body: settings.kind === 'slack' ? JSON.stringify({ text: textOf(told) }) : bodyOf(told),
    endpoint: { url: settings.url, headers: {} },
    secrets: secret === undefined ? [] : [{ secret, until: null }],
    at: new Date(),
  })
  if (outcome.kind === 'delivered') return { kind: 'told' }
  return { kind: outcome.kind === 'rejected' ? 'refused' : 'failed', reason: outcome.reason }
}

/** The page that shows more; null where the channel does not know the app. */
export const linkTo = (appUrl: string | null, path: string): string | null =>
  appUrl === null ? null : new URL(path, appUrl).href
