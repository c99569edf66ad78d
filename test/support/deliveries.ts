/** Events that a test posts, and their deliveries as the API tells of them. */

import { expect } from 'vitest'
import type { Delivery, DeliveryDetail } from '../../src/schemas/delivery.ts'
import type { Source } from '../../src/schemas/source.ts'
import type { TestApp } from './app.ts'
import { until } from './wait.ts'

type Api = Pick<TestApp, 'api' | 'post'>

/** @param action  what is done to it, as in `/retry` */
export const deliveryPath = (id: string, action = ''): string => `/deliveries/${encodeURIComponent(id)}${action}`

export const untilStatus = (node: Api, id: string, ...statuses: string[]): Promise<DeliveryDetail> =>
  until(`${id} is ${statuses.join(' or ')}`, async () => {
    const { status, body } = await node.api<DeliveryDetail>('GET', deliveryPath(id))
    return status === 200 && statuses.includes(body.status) && body
  })

export const list = async (node: Api, filter: Record<string, string>): Promise<Delivery[]> =>
  (await node.api<{ items: Delivery[] }>('GET', `/deliveries?${new URLSearchParams(filter).toString()}`)).body.items

/** The deliveries that fit, as soon as there are so many. */
export const listed = (node: Api, filter: Record<string, string>, count = 1): Promise<Delivery[]> =>
  until(`${count} of ${JSON.stringify(filter)}`, async () => {
    const items = await list(node, filter)
    return items.length === count && items
  })

/** Posts an event with a `messageId`. @returns the id of its delivery */
export const track = async (node: Api, { id, writeKey }: Source, event: Record<string, unknown>): Promise<string> => {
  expect((await node.post('/track', writeKey, event)).status).toBe(200)
  return `event/${id}/${String(event['messageId'])}`
}
