/** As `calls.ts`, for pages. */

import { Analytics } from '@postrider/analytics/browser'

interface Shop {
  'Order Completed': { total: number }
}

const shop = new Analytics<Shop>('key', { remember: true, autoPage: true, awaitConsent: true })
shop.identify({ userId: 'u1', traits: { plan: 'pro' } })
shop.track({ event: 'Order Completed', properties: { total: 5 } })
shop.page({ properties: { url: 'https://example.com' } })
shop.consent(true)
shop.reset()
// @ts-expect-error a misspelt event
shop.track({ event: 'Order Complete' })
// @ts-expect-error no event
shop.track({})
// @ts-expect-error no groupId
shop.group({})
// @ts-expect-error an option of Node
new Analytics('key', { spoolDir: '/tmp' })
