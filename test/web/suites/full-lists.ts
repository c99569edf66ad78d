import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Audience } from '../../../src/schemas/audience.ts'
import type { Source } from '../../../src/schemas/source.ts'
import { startReceiver } from '../../support/receiver.ts'
import { until } from '../../support/wait.ts'
import {
  brokenWords,
  mediumAndLight,
  narrowAndDark,
  seriousFindings,
  show,
  wideAndDark,
  wideAndLight,
  type Look,
  type WebTest,
} from '../browser.ts'

/** Names as people and programs give them: long ones without a space, right-to-left ones, and some of both. */
const nameOf = (index: number): string =>
  [
    `${'Unbroken'.repeat(20)}${index}`,
    `متجر الكتب رقم ${index}`,
    `חנות-ספרים-${'ארוכה'.repeat(25)}-${index}`,
    `Department of marketing, application ${index}`,
  ][index % 4] ?? ''

/** As much of a name as a message id may have. */
const messageIdOf = (name: string): string => name.slice(-100)

/** Rows of each list: more than a page of deliveries, and than a list of choices shows without scrolling. */
const rows = 60

/** Something that opens a list or a calendar beneath it. */
interface Choice {
  path: string
  name: string | RegExp
  /** Brings the page to where it can be opened. */
  before?: (page: Page) => Promise<unknown>
  opens: 'listbox' | 'dialog'
}

const choices: Choice[] = [
  { path: '/?range=custom', name: 'Source', opens: 'listbox' },
  { path: '/?range=custom', name: 'First and last day', opens: 'dialog' },
  { path: '/deliveries?userId=nobody', name: 'Status', opens: 'listbox' },
  { path: '/deliveries?userId=nobody', name: 'Destination', opens: 'listbox' },
  { path: '/deliveries?userId=nobody', name: /^From \(.+\)$/, opens: 'dialog' },
  {
    path: '/audiences',
    name: 'Destinations',
    before: (page) => page.getByRole('button', { name: 'Create an audience' }).first().click(),
    opens: 'listbox',
  },
]

/** Beyond the window to the left or right, in pixels. */
const overflow = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)

export const fullLists = (web: WebTest) =>
  describe('what has many rows with long, unbroken and right-to-left names', () => {
    let source: Source
    let audience: Audience
    beforeAll(async () => {
      const { node } = web
      const receiver = await startReceiver()
      source = await node.createSource(nameOf(1))
      for (let index = 2; index < rows; index++) await node.createSource(nameOf(index))
      const quiet = await node.createSource('Department of accounting')
      await node.api('POST', `/sources/${quiet.id}/rotate-key`, { overlapSeconds: 3_600 })
      await node.api('POST', '/deletion-requests', { userIds: [nameOf(0), nameOf(3)], sourceIds: [quiet.id] })
      for (let index = 0; index < rows; index++) {
        const { id } = await node.connect(index < 2 ? [source] : [], [receiver.url])
        expect((await node.api('PATCH', `/destinations/${id}`, { name: nameOf(index) })).status).toBe(200)
      }
      for (let index = 0; index < 4; index++) {
        for (const [path, body] of [
          ['/audiences', { name: nameOf(index).slice(-60) }],
          ['/tokens', { name: nameOf(index), role: 'viewer' }],
        ] as const)
          expect((await node.api('POST', path, body)).status).toBe(201)
      }
      audience = (await node.api<Audience>('POST', '/audiences', { name: 'Department of sales' })).body
      await node.api('POST', `/audiences/${audience.id}/members`, { add: [0, 1, 2, 3].map(nameOf) })
      const batch = Array.from({ length: rows }, (_, index) => {
        const name = nameOf(index)
        return { type: 'track', event: name, userId: name, messageId: messageIdOf(name) }
      })
      expect((await node.post('/batch', source.writeKey, { batch })).status).toBe(200)
      for (let index = 0; index < 4; index++)
        await node.post('/track', source.writeKey, { userId: nameOf(index), messageId: messageIdOf(nameOf(index)) })
      await until('all are listed', async () => {
        const { body } = await node.api<{ count: number }>(
          'GET',
          `/deliveries/count?sourceId=${source.id}&status=delivered`,
        )
        return body.count === rows
      })
      await receiver.close()
    })

    const check = async (page: Page, what: string, looks: readonly Look[]): Promise<void> => {
      for (const look of looks) {
        await show(page, look)
        expect(await seriousFindings(page), `${what} ${look.name}`).toEqual([])
        expect(await overflow(page), `${what} ${look.name} is wider than the window`).toBeLessThanOrEqual(0)
        expect(await brokenWords(page), `${what} ${look.name} breaks words`).toEqual([])
      }
    }

    it('is accessible and fits the window', { timeout: 480_000 }, async () => {
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      const paths = [
        '/sources',
        '/destinations',
        `/deliveries?sourceId=${source.id}`,
        '/turned-away',
        '/audiences',
        `/audiences/${audience.id}`,
        '/deletion-requests',
        '/alerts',
        '/settings?tab=tokens',
        '/settings?tab=audit',
      ]
      for (const path of paths) {
        await page.goto(web.node.url + path)
        await page.getByRole('heading', { level: 1 }).waitFor()
        await page.locator('tbody tr').first().waitFor()
        await page.waitForFunction(() => document.querySelector('[aria-busy="true"]') === null)
        await check(page, path, [wideAndLight, mediumAndLight, narrowAndDark])
      }
      expect(errors).toEqual([])
    })

    it('leaves the close button of a dialog in it', async () => {
      const { id } = await web.node.createSource('U'.repeat(200))
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/sources/${id}`)
      await page.getByRole('button', { name: 'Delete source' }).click()
      const dialog = page.getByRole('dialog', { name: /^Delete U+\?$/ })
      for (const look of [wideAndLight, narrowAndDark]) {
        await show(page, look)
        const close = await dialog.getByRole('button', { name: 'Close' }).boundingBox()
        const box = await dialog.boundingBox()
        expect((close?.x ?? NaN) + (close?.width ?? NaN), look.name).toBeLessThanOrEqual(
          (box?.x ?? NaN) + (box?.width ?? NaN),
        )
      }
      await dialog.getByRole('button', { name: 'Close' }).click()
      await dialog.waitFor({ state: 'detached' })
    })

    it.each(choices)(
      'is accessible where one is chosen: $name of $path',
      { timeout: 120_000 },
      async ({ path, name, before, opens }) => {
        const { page } = await web.open({ signedInTo: web.node.url })
        await page.goto(web.node.url + path)
        await before?.(page)
        const field = page
          .getByRole(opens === 'listbox' ? 'combobox' : 'button', { name, exact: true })
          .or(page.getByRole('textbox', { name, exact: true }))
          .and(page.locator(':enabled'))
          .first()
        await field.focus()
        await page.keyboard.press(opens === 'listbox' ? 'ArrowDown' : 'Enter')
        const shown = page.getByRole(opens).filter({ has: page.getByRole(opens === 'listbox' ? 'option' : 'table') })
        await shown.waitFor()
        for (const look of [wideAndLight, wideAndDark, narrowAndDark]) {
          await check(page, String(name), [look])
          const box = await shown.boundingBox()
          expect((box?.x ?? -1) >= 0 && (box?.x ?? 0) + (box?.width ?? 0) <= look.width, look.name).toBe(true)
        }
        if (opens === 'dialog') return
        const last = shown.getByRole('option').last()
        const isSelectedAndShown = () =>
          last.evaluate((option) => {
            const list = option.closest('[role=listbox]')?.getBoundingClientRect()
            const { top, bottom, height } = option.getBoundingClientRect()
            // Of a name that takes more room than the list has, the beginning is shown.
            const isShown = list && top >= list.top - 1 && (bottom <= list.bottom + 1 || height > list.height)
            return (option.hasAttribute('data-combobox-selected') && isShown) || { list, top, bottom }
          })
        await page.keyboard.press('ArrowUp')
        // What loads above the field moves it, and makes the list smaller: the last one is reached anew then.
        await expect
          .poll(
            async () => {
              const seen = await isSelectedAndShown()
              if (seen !== true) for (const key of ['ArrowUp', 'ArrowDown']) await page.keyboard.press(key)
              return seen
            },
            { timeout: 30_000 },
          )
          .toBe(true)
      },
    )
  })
