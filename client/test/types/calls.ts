/** Compiled against the packed package: every line that must not compile is marked, and tsc finds marks in vain. */

import { Analytics } from '@postrider/analytics'
import { verifySignature, verifyStandardWebhook } from '@postrider/analytics/receiver'
import type { IncomingMessage } from 'node:http'

interface Shop {
  'Order Completed': { orderId: string; total: number }
  'Cart Viewed': { coupon?: string }
}

const shop = new Analytics<Shop>('key', { endpoint: 'https://events.example.com', flushAt: 20, flushAfter: 5_000 })
shop.track({ userId: 'u1', event: 'Order Completed', properties: { orderId: 'o1', total: 5 } })
shop.track({ anonymousId: 'a1', event: 'Cart Viewed' })
shop.page({ userId: 'u1', properties: { url: 'https://example.com', custom: 1 } })
// @ts-expect-error a misspelt event
shop.track({ userId: 'u1', event: 'Order Complete', properties: { orderId: 'o1', total: 5 } })
// @ts-expect-error a missing property
shop.track({ userId: 'u1', event: 'Order Completed', properties: { orderId: 'o1' } })
// @ts-expect-error a property of the wrong type
shop.track({ userId: 'u1', event: 'Order Completed', properties: { orderId: 'o1', total: '5' } })
// @ts-expect-error a misspelt property
shop.track({ userId: 'u1', event: 'Cart Viewed', properties: { cupon: 'x' } })
// @ts-expect-error required properties
shop.track({ userId: 'u1', event: 'Order Completed' })

const any = new Analytics('key')
any.track({ userId: 'u1', event: 'Anything', properties: { at: 'all' } })
any.identify({ userId: 'u1', anonymousId: null, integrations: { All: false, Webhooks: true } })
// @ts-expect-error neither userId nor anonymousId
any.track({ event: 'Anything' })
// @ts-expect-error neither userId nor anonymousId
any.identify({ traits: {} })
// @ts-expect-error no groupId
any.group({ userId: 'u1' })
// @ts-expect-error no previousId
any.alias({ userId: 'u1' })
// @ts-expect-error a recognised member of the wrong type
any.page({ userId: 'u1', properties: { url: 1 } })
new Analytics('key', { overflow: 'drop-oldest' })
// @ts-expect-error calls return at once, so they cannot wait for room
new Analytics('key', { overflow: 'block' })
// @ts-expect-error no such option
new Analytics('key', { flushat: 20 })

export const ok: boolean = verifySignature('body', 'header', 'secret')

/** The sample of the README, for what Node gives. */
export const isAuthentic = (body: Buffer, request: IncomingMessage, sharedSecret: string): boolean =>
  verifySignature(body, request.headers['x-signature'], sharedSecret) &&
  verifyStandardWebhook(body, request.headers, sharedSecret)
