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

/** The cells of the only table. */
export const cellsOf = (page: Page): Promise<string[][]> =>
  page
    .getByRole('main')
    .locator('tbody tr')
    .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)))

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
