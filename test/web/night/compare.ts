/** Holds every page against the account, until there is no difference. */

import { isDeepStrictEqual } from 'node:util'
import type { Page } from 'playwright-core'
import { bucketOf, slowBucketOf } from '../../../src/observation/latency-buckets.ts'
import { eventually } from '../browser.ts'
import type { Account, Span, Target } from './account.ts'
import { deliveryPath, visit } from './operator.ts'
import {
  cellsOf,
  readDelivery,
  readFacts,
  readFailing,
  readFailures,
  readFunnel,
  readList,
  readPercentiles,
} from './screen.ts'

export interface Sight {
  page: Page
  account: Account
  /** Id of a delivery by its key. */
  idOf: (key: string) => string
}

/** What differs between two records, as `name: shown, expected`. Lists have an order, names of members have none:
 *  destinations stand in the order in which they were found when the event came. */
function differences(shown: Record<string, unknown>, expected: Record<string, unknown>): string[] {
  const names = new Set([...Object.keys(shown), ...Object.keys(expected)])
  return [...names]
    .filter((name) => !isDeepStrictEqual(shown[name], expected[name]))
    .map((name) => `${name}: shown ${JSON.stringify(shown[name])}, expected ${JSON.stringify(expected[name])}`)
}

/** Attempts may come meanwhile: what is expected is asked for after each look. */
const untilSame = (read: () => Promise<object>, expected: () => object): Promise<void> =>
  eventually(async () => {
    const shown = await read()
    return differences({ ...shown }, { ...expected() })
  }).toEqual([])

export async function compareList({ page, account }: Sight): Promise<void> {
  await visit(page, '/deliveries')
  await untilSame(
    () => readList(page),
    () => account.rows(),
  )
}

export async function compareDelivery({ page, account, idOf }: Sight, key: string): Promise<void> {
  await visit(page, deliveryPath(idOf(key)))
  await page.getByRole('heading', { name: 'Attempts' }).waitFor()
  await untilSame(
    () => readDelivery(page),
    () => account.delivery(key),
  )
}

export async function compareFunnel({ page, account }: Sight, door: () => Record<string, number>): Promise<void> {
  const outcomes = [
    'Delivering',
    'Retrying',
    'Held',
    'Delivered',
    'Partly delivered',
    'Failed',
    'Discarded',
    'Cancelled',
  ]
  const always = ['Delivering', 'Retrying', 'Held', 'Delivered', 'Failed']
  await visit(page, '/')
  await untilSame(
    () => readFunnel(page),
    () => {
      const counts = outcomes.map((status) => [status, account.count(status)] as const)
      return {
        ...door(),
        ...Object.fromEntries(counts.filter(([status, count]) => always.includes(status) || count > 0)),
      }
    },
  )
}

export async function compareDestination({ page, account }: Sight, target: Target): Promise<void> {
  await visit(page, `/destinations/${target.id}`)
  await untilSame(
    async () => {
      const facts = await readFacts(page)
      return {
        succeeded: facts['Requests that succeeded'],
        failed: facts['Requests that failed'],
        rate: facts['Success rate'],
        failures: await readFailures(page),
      }
    },
    () => {
      const { succeeded, failed } = account.requests(target)
      const rate = ((succeeded / (succeeded + failed)) * 100).toFixed(1)
      return {
        succeeded: String(succeeded),
        failed: String(failed),
        rate: `${rate} %`,
        failures: account.failures(target),
      }
    },
  )
}

/** The overview's endpoints that fail now. */
export async function compareFailing({ page, account }: Sight, targets: readonly Target[]): Promise<void> {
  await visit(page, '/')
  await untilSame(
    () => readFailing(page),
    () => account.failing(targets),
  )
}

/** How long an attempt may take, in milliseconds. */
const attemptLimitMs = 5_000

/** The overview's tiles of latencies, which are exact to the width of a bucket. */
export async function compareLatencies({ page, account }: Sight): Promise<void> {
  await visit(page, '/')
  const differing = (name: string, shown: { p50Ms: number; p95Ms: number }, expected: readonly Span[]): string[] =>
    (
      [
        ['p50Ms', 0.5],
        ['p95Ms', 0.95],
      ] as const
    )
      .map(([member, share]) => ({ member, shownMs: shown[member], span: percentile(expected, share) }))
      .filter(({ shownMs, span }) => !isAbout(shownMs, span))
      .map(({ member, shownMs, span }) => `${name} ${member}: shown ${shownMs}, expected ${span.from} to ${span.to}`)
  await eventually(async () => {
    const [latency, attempt] = [
      await readPercentiles(page, 'From accepted to delivered'),
      await readPercentiles(page, 'A single attempt'),
    ]
    const latencies = account.latencies()
    return [
      ...differing('latency', latency, latencies),
      ...differing(
        'attempt',
        attempt,
        latencies.map(() => ({ from: 0, to: attemptLimitMs })),
      ),
    ]
  }).toEqual([])
}

function percentile(spans: readonly Span[], share: number): Span {
  const rank = Math.max(1, Math.ceil(share * spans.length)) - 1
  const at = (member: keyof Span): number => spans.map((span) => span[member]).sort((a, b) => a - b)[rank] ?? NaN
  return { from: at('from'), to: at('to') }
}

/** Of what is shown, the last digit is rounded. */
const isAbout = (shownMs: number, { from, to }: Span): boolean =>
  finestBucketOf(shownMs * 1.1) >= finestBucketOf(from) && finestBucketOf(shownMs * 0.9) <= finestBucketOf(to)

/** A number that grows from one bucket to the next; none is as high as that of no latency. */
const finestBucketOf = (latencyMs: number): number =>
  Number.isNaN(latencyMs) ? Infinity : bucketOf(latencyMs) + (slowBucketOf(latencyMs) ?? 0)

/** The list of destinations: whether each is on, how its endpoints do, how many requests were made and how many of them failed. */
export async function compareDestinations({ page, account }: Sight, targets: readonly Target[]): Promise<void> {
  await visit(page, '/destinations')
  await untilSame(
    async () =>
      Object.fromEntries(
        (await cellsOf(page)).map(([name = '', state = '', requests = '']) => [name, { state, requests }]),
      ),
    () =>
      Object.fromEntries(
        targets.map((target) => {
          const { succeeded, failed } = account.requests(target)
          const requests = `${succeeded + failed}${failed > 0 ? `${failed} failed` : ''}`
          return [target.name, { state: account.stateOf(target), requests }]
        }),
      ),
  )
}

/** The list of sources: how many events came. */
export async function compareSources(page: Page, expected: () => Record<string, string>): Promise<void> {
  await visit(page, '/sources')
  await untilSame(
    async () => Object.fromEntries((await cellsOf(page)).map(([name = '', , events = '']) => [name, events])),
    expected,
  )
}
