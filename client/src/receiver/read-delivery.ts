/** What the three handlers share: from bytes and headers to a checked message, or to the status that refuses it. */

import { verifySignature, verifyStandardWebhook } from './signatures.ts'

/** Largest body that is read, in bytes. A call is at most 32 KB; the rest is room for what the service adds. */
export const MAX_BODY_BYTES = 1_048_576

/** A delivered message: `spec/`, "Delivered message bodies". The same `messageId` twice is a repeat. */
export interface DeliveredMessage {
  type: 'page' | 'screen' | 'identify' | 'track' | 'alias' | 'group' | 'delete'
  /** ISO 8601 with milliseconds, UTC. */
  timestamp: string
  version?: number
  messageId?: string
  userId?: string
  anonymousId?: string
  event?: string
  name?: string
  groupId?: string
  properties?: Record<string, unknown>
  traits?: Record<string, unknown>
  context?: Record<string, unknown>
  [member: string]: unknown
}

/** Options of the ready handlers. */
export interface ReceiverOptions {
  /** The destination's shared secret; a list while it is being replaced: what is signed with any of them is authentic. */
  secret: string | readonly string[]
  /** How the sender signs. Default: `x-signature`. */
  scheme?: 'x-signature' | 'standard-webhooks'
  /** Called for every authentic message. If it throws, the sender gets a 500 and delivers again. Be done within 5 s. */
  onMessage: (message: DeliveredMessage) => void | Promise<void>
}

export type Delivery = { status: 200; message: DeliveredMessage } | { status: 400 | 401 }

/** Checks the signature before anything is parsed. */
export function readDelivery(
  body: string | Uint8Array,
  header: (name: string) => string | null | undefined,
  { secret, scheme = 'x-signature' }: ReceiverOptions,
): Delivery {
  const authentic =
    scheme === 'x-signature'
      ? verifySignature(body, header('x-signature'), secret)
      : verifyStandardWebhook(
          body,
          {
            'webhook-id': header('webhook-id'),
            'webhook-timestamp': header('webhook-timestamp'),
            'webhook-signature': header('webhook-signature'),
          },
          secret,
        )
  if (!authentic) return { status: 401 }
  try {
    const message: unknown = JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body))
    return isMessage(message) ? { status: 200, message } : { status: 400 }
  } catch {
    return { status: 400 }
  }
}

function isMessage(value: unknown): value is DeliveredMessage {
  return typeof (value as DeliveredMessage | null)?.type === 'string'
}
