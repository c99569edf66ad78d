/** Sources, destinations and events of a night, with the account of them. */

import { expect } from 'vitest'
import type { Page } from 'playwright-core'
import type { Source } from '../../../src/schemas/source.ts'
import type { EmbeddedNode } from '../../support/embedded-node.ts'
import { keepAccount, type Account, type Target } from './account.ts'
import {
  compareDelivery,
  compareDestination,
  compareDestinations,
  compareFailing,
  compareFunnel,
  compareLatencies,
  compareList,
  compareSources,
} from './compare.ts'
import type { Endpoint, Receivers } from './receivers.ts'

export interface Scene {
  account: Account
  source(name: string): Promise<Source>
  /** A destination of these sources, which leads to these endpoints. */
  target(name: string, sources: Source[], endpoints: Endpoint[]): Promise<Target>
  /** Sends events with these message ids; each is accepted. */
  track(this: void, source: Source, ...messageIds: string[]): Promise<void>
  /** Sends one that is no event. */
  trackNonsense(source: Source): Promise<void>
  /** Id of a delivery by its key. */
  idOf(this: void, key: string): string
  /** Holds the list of deliveries against the account, and each delivery that is not as it was at the last time. */
  compareChanged(this: void, page: Page): Promise<void>
  /** Holds all lists and figures against it too. For when nothing is under way: figures change with every attempt. */
  compareAll(this: void, page: Page): Promise<void>
}

export function setScene({ api, connect, createSource, post }: EmbeddedNode, receivers: Receivers): Scene {
  const account = keepAccount(receivers)
  const targets: (Target & { sourceIds: string[] })[] = []
  const sources: Source[] = []
  const accepted = new Map<string, number>()
  const rejected = new Map<string, number>()
  const sourceOf = new Map<string, string>()
  const compared = new Map<string, string>()
  const add = (counts: Map<string, number>, id: string): void => void counts.set(id, (counts.get(id) ?? 0) + 1)
  const sum = (counts: Map<string, number>): number => [...counts.values()].reduce((total, one) => total + one, 0)

  const idOf = (key: string): string => {
    const [messageId = '', number] = key.split(' again ')
    return `event/${sourceOf.get(messageId)}/${messageId}${number === undefined ? '' : `/redelivery/${number}`}`
  }
  const door = (): Record<string, number> => ({
    Received: sum(accepted) + sum(rejected),
    Rejected: sum(rejected),
    ...(sum(rejected) > 0 && { 'A track call did not name its event.': sum(rejected) }),
    'No destination': 0,
    Accepted: sum(accepted),
  })
  const eventsOf = ({ id }: Source): string => {
    const refused = rejected.get(id) ?? 0
    return `${(accepted.get(id) ?? 0) + refused}${refused > 0 ? `${refused} rejected` : ''}`
  }

  const compareChanged = async (page: Page): Promise<void> => {
    const sight = { page, account, idOf }
    await compareList(sight)
    for (const key of account.keys()) {
      const state = JSON.stringify(account.delivery(key))
      if (compared.get(key) === state) continue
      await compareDelivery(sight, key)
      compared.set(key, state)
    }
  }

  return {
    account,
    idOf,
    compareChanged,
    async source(name) {
      const source = await createSource(name)
      sources.push(source)
      return source
    },
    async target(name, ofSources, endpoints) {
      const urls = endpoints.map(({ url }) => url)
      const { id } = await connect(ofSources, urls)
      await api('PATCH', `/destinations/${id}`, { name })
      const target = {
        id,
        name,
        endpoints: endpoints.map((place) => ({ places: [place] })),
        isPaused: false,
        isOff: false,
        sourceIds: ofSources.map((source) => source.id),
      }
      targets.push(target)
      return target
    },
    async track(source, ...messageIds) {
      for (const messageId of messageIds) {
        const event = { userId: 'ada', event: `Event ${messageId}`, messageId }
        const from = Date.now()
        expect((await post('/track', source.writeKey, event)).status).toBe(200)
        add(accepted, source.id)
        sourceOf.set(messageId, source.id)
        account.sent(
          messageId,
          targets.filter(({ sourceIds, isOff }) => sourceIds.includes(source.id) && !isOff),
          { from, to: Date.now() },
        )
      }
    },
    async trackNonsense(source) {
      expect((await post('/track', source.writeKey, { userId: 'ada' })).status).toBe(400)
      add(rejected, source.id)
    },
    async compareAll(page) {
      await compareChanged(page)
      const sight = { page, account, idOf }
      for (const target of targets) await compareDestination(sight, target)
      await compareDestinations(sight, targets)
      await compareSources(page, () => Object.fromEntries(sources.map((source) => [source.name, eventsOf(source)])))
      await compareFunnel(sight, door)
      await compareFailing(sight, targets)
      await compareLatencies(sight)
    },
  }
}
