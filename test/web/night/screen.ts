/** What the pages show, read as an operator reads it. */

import type { Page } from 'playwright-core'

/** Longer ones first where one begins another. */
const statuses = [
  'Partly delivered',
  'Delivered',
  'Delivering',
  'Retrying',
  'Queued',
  'Held',
  'Failed',
  'Discarded',
  'Cancelled',
  'Not needed',
]

const statusIn = (text: string): string => statuses.find((status) => text.startsWith(status)) ?? text

/** What is shown of one delivery in the list. */
export interface ShownRow {
  status: string
  attempts: string
}

/** The rows of the list of deliveries by message id, and for redeliveries with their number. */
export async function readList(page: Page): Promise<Record<string, ShownRow>> {
  const rows = await cellsOf(page)
  return Object.fromEntries(
    rows.map(([, event = '', status = '', , , attempts = '', messageId = '']) => [
      keyOf(messageId, /Redelivery (\d+)/.exec(event)?.[1]),
      { status: statusIn(status), attempts },
    ]),
  )
}

export const keyOf = (messageId: string, redelivery: string | undefined): string =>
  redelivery === undefined ? messageId : `${messageId} again ${redelivery}`

/** The cells of the only table, without what is there for other widths. */
export const cellsOf = (page: Page): Promise<string[][]> =>
  page
    .getByRole('main')
    .locator('tbody tr')
    .evaluateAll((rows) => {
      const textOf = (element: Element): string =>
        element.checkVisibility()
          ? [...element.childNodes]
              .map((node) => (node instanceof Element ? textOf(node) : (node.textContent ?? '')))
              .join('')
          : ''
      return rows.map((row) => [...row.children].map(textOf))
    })

export interface ShownDelivery {
  status: string
  /** By name of the destination. */
  destinations: Record<string, { status: string; endpoints: ShownEndpoint[] }>
  /** URL and status of the answer, in order at each URL. */
  attempts: string[]
  /** URLs of endpoints that are tried on. */
  pending: string[]
}

export interface ShownEndpoint {
  url: string
  status: string
  attempts: number
}

/** The page of a delivery. */
export async function readDelivery(page: Page): Promise<ShownDelivery> {
  const shown = await page.getByRole('main').evaluate((main) => {
    const section = (title: string): Element | undefined =>
      [...main.querySelectorAll('section')].find((one) => one.querySelector('h2')?.textContent === title)
    return {
      header: main.querySelector('h1')?.nextElementSibling?.textContent ?? '',
      groups: [...main.querySelectorAll('[role=group][aria-label^="Result of "]')].map((group) => ({
        name: group.getAttribute('aria-label')?.slice('Result of '.length) ?? '',
        head: group.firstElementChild?.lastElementChild?.textContent ?? '',
        rows: [...group.querySelectorAll('li')].map((row) => [
          row.querySelector('p')?.textContent ?? '',
          ...[...(row.lastElementChild?.children ?? [])].map(({ textContent }) => textContent),
        ]),
      })),
      entries: [...(section('Attempts')?.querySelectorAll('.mantine-Timeline-item') ?? [])].map((item) => ({
        title: item.querySelector('.mantine-Timeline-itemTitle')?.textContent ?? '',
        text: item.querySelector('.mantine-Timeline-itemContent')?.textContent ?? '',
        isAttempt: item.querySelector('svg[aria-label]') !== null,
      })),
    }
  })
  const urls = shown.entries.filter(({ title }) => title.startsWith('http'))
  return {
    status: statusIn(shown.header),
    destinations: Object.fromEntries(
      shown.groups.map(({ name, head, rows }) => [
        name,
        {
          status: statusIn(head),
          endpoints: rows.map(([url = '', status = '', attempts = '']) => ({
            url,
            status: statusIn(status),
            attempts: Number.parseInt(attempts),
          })),
        },
      ]),
    ),
    attempts: byUrl(
      urls
        .filter(({ isAttempt }) => isAttempt)
        .map(({ title, text }) => attemptText(title, /HTTP (\d{3})/.exec(text)?.[1])),
    ),
    pending: urls.filter(({ isAttempt }) => !isAttempt).map(({ title }) => title),
  }
}

export const attemptText = (url: string, status: string | number | null | undefined): string =>
  `${url} ${status ?? 'no answer'}`

/** Those of one URL in their order; requests that are made side by side arrive in any. */
export const byUrl = (attempts: readonly string[]): string[] =>
  attempts.toSorted((one, other) => (urlIn(one) < urlIn(other) ? -1 : urlIn(one) > urlIn(other) ? 1 : 0))

const urlIn = (attempt: string): string => attempt.split(' ')[0] ?? ''

/** The numbers of the overview's funnel by name; those left out are zero. */
export const readFunnel = (page: Page): Promise<Record<string, number>> =>
  page.getByRole('main').evaluate((main) => {
    const numbers: Record<string, number> = {}
    const funnel = [...main.querySelectorAll('section')].find(
      (one) => one.querySelector('h2')?.textContent === 'What became of it',
    )
    for (const link of funnel?.querySelectorAll('a') ?? [])
      numbers[link.textContent] = Number(link.nextElementSibling?.textContent.replaceAll(',', ''))
    return numbers
  })

/** A number or word beside its name. */
export async function readFacts(page: Page): Promise<Record<string, string>> {
  const facts = await page
    .getByRole('main')
    .locator('dl > div')
    .evaluateAll((all) =>
      all.map((one) => [one.querySelector('dt')?.textContent ?? '', one.querySelector('dd')?.textContent ?? '']),
    )
  return Object.fromEntries(facts) as Record<string, string>
}

/** One of the recent failures of a destination. */
export interface ShownFailure {
  event: string
  /** Status of the last answer. */
  status: string
}

const statusOfReason = (reason: string): string => /\b[2-5]\d\d\b/.exec(reason)?.[0] ?? 'no answer'

/** The recent failures on the page of a destination. */
export async function readFailures(page: Page): Promise<ShownFailure[]> {
  const entries = await page.getByRole('main').evaluate((main) => {
    const section = [...main.querySelectorAll('section')].find(
      (one) => one.querySelector('h2')?.textContent === 'Recent failures',
    )
    return [...(section?.querySelectorAll('div > a[href*="/deliveries/"]') ?? [])].map((link) => ({
      event: link.textContent,
      reason: link.parentElement?.lastElementChild?.textContent ?? '',
    }))
  })
  return entries.map(({ event, reason }) => ({ event, status: statusOfReason(reason) }))
}

/** One of the endpoints that fail now. */
export interface ShownFailing {
  destination: string
  /** Status of the last answer. */
  status: string
  /** Attempts that failed. */
  failed: number
  /** Deliveries of the destination that wait for their next attempt, and that failed for good. */
  waiting: number
  failedForGood: number
}

/** The overview's endpoints that fail now, by URL. */
export async function readFailing(page: Page): Promise<Record<string, ShownFailing>> {
  const groups = await page.getByRole('group', { name: /^Failing: / }).evaluateAll((all) =>
    all.map((group) => ({
      url: group.getAttribute('aria-label')?.slice('Failing: '.length) ?? '',
      destination: group.querySelector('a')?.textContent ?? '',
      reason: group.querySelectorAll('p')[1]?.textContent ?? '',
      text: group.textContent,
    })),
  )
  const number = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1]?.replaceAll(',', '') ?? 0)
  return Object.fromEntries(
    groups.map(({ url, destination, reason, text }) => [
      url,
      {
        destination,
        status: statusOfReason(reason),
        failed: number(text, /([\d,]+) failed attempts? in/),
        waiting: number(text, /([\d,]+) deliver(?:y waits|ies wait) for/),
        failedForGood: number(text, /([\d,]+) deliver(?:y|ies) failed for good/),
      },
    ]),
  )
}

const unitMs: Record<string, number> = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 }

/** Median and 95th percentile on a tile of the overview, in milliseconds; NaN where it has none. */
export async function readPercentiles(page: Page, name: string): Promise<{ p50Ms: number; p95Ms: number }> {
  const text = await page.getByRole('region', { name, exact: true }).locator('p').first().textContent()
  const [p50Ms = NaN, p95Ms = NaN] = [...(text ?? '').matchAll(/([\d.]+) (ms|s|min|h|d)\b/g)].map(
    ([, amount, unit = '']) => Number(amount) * (unitMs[unit] ?? NaN),
  )
  return { p50Ms, p95Ms }
}
