import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Audience } from '../../../src/schemas/audience.ts'
import type { DestinationView } from '../../../src/schemas/destination.ts'
import type { Source } from '../../../src/schemas/source.ts'
import { startReceiver, type Receiver } from '../../support/receiver.ts'
import { until } from '../../support/wait.ts'
import { narrowAndDark, seriousFindings, show, wideAndDark, wideAndLight, type WebTest } from '../browser.ts'

/** What the dialogs are about. */
interface Scene {
  source: Source
  destination: DestinationView
  audience: Audience
  receiver: Receiver
}

interface Opener {
  /** Where in `web/src` it is opened: one entry for each place in the code that opens something. */
  file: string
  path: (scene: Scene) => string
  /** Brings the page to where it can be opened. */
  before?: (page: Page, scene: Scene) => Promise<unknown>
  /** What has the focus when the key is pressed. */
  from: (page: Page) => Locator
  key?: string
  /** What opens; a dialog unless given. */
  role?: 'menu' | 'dialog'
  name: string | RegExp
  /** It cannot be left without an answer. */
  stays?: true
  /** Where the focus is afterwards; where it was before unless given. */
  focusIsBackAt?: (page: Page) => Locator
  /** What is typed into it, to be saved or sent. */
  field?: string
}

const button = (name: string) => (page: Page) => page.getByRole('button', { name, exact: true }).first()
const deliveryPath = ({ id }: Source, messageId: string): string =>
  `/deliveries/${encodeURIComponent(`event/${id}/${messageId}`)}`

const openers: Opener[] = [
  { file: 'shell/account-menu.tsx', path: () => '/', from: button('Account'), role: 'menu', name: 'Account' },
  {
    file: 'shell/account-menu.tsx',
    path: ({ destination }) => `/destinations/${destination.id}`,
    before: async (page) => {
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Half done')
      await page.getByRole('button', { name: 'Account' }).click()
    },
    from: (page) => page.getByRole('menuitem', { name: 'Sign out' }),
    name: 'Sign out without saving?',
    // The menu that it came from is closed.
    focusIsBackAt: button('Account'),
  },
  { file: 'shell/color-scheme-menu.tsx', path: () => '/', from: button('Colours'), role: 'menu', name: 'Colours' },
  {
    file: 'shell/command-palette.tsx',
    path: () => '/sources',
    from: button('Create a source'),
    key: 'Control+k',
    name: 'Go to',
  },
  {
    file: 'shell/sign-in-again.tsx',
    path: ({ destination }) => `/destinations/${destination.id}`,
    before: async (page) => {
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Kept')
      await page.context().clearCookies()
    },
    from: button('Save'),
    name: 'Your session has ended',
    stays: true,
  },
  {
    file: 'shared/unsaved-guard.tsx',
    path: ({ destination }) => `/destinations/${destination.id}`,
    before: (page) => page.getByRole('textbox', { name: 'Name', exact: true }).fill('Half done'),
    from: (page) => page.getByRole('link', { name: 'Sources' }).first(),
    name: 'Leave without saving?',
  },
  {
    file: 'shared/delete-section.tsx',
    path: ({ source }) => `/sources/${source.id}`,
    from: button('Delete source'),
    name: 'Delete Dialogs?',
  },
  {
    file: 'features/sources/sources-page.tsx',
    path: () => '/sources',
    from: button('Create a source'),
    name: 'Create a source',
    field: 'Name',
  },
  {
    file: 'features/sources/write-key.tsx',
    path: ({ source }) => `/sources/${source.id}`,
    from: button('Rotate'),
    name: 'Replace the write key?',
  },
  {
    file: 'features/sources/write-key.tsx',
    path: ({ source }) => `/sources/${source.id}`,
    from: button('End it now'),
    name: 'End the old keys?',
  },
  {
    file: 'features/sources/live-events.tsx',
    path: ({ source }) => `/sources/${source.id}`,
    before: async (page, { source }) => {
      await page.getByRole('status').getByText('Live', { exact: true }).waitFor()
      await page.evaluate(
        (writeKey) =>
          fetch('/v1/track', { method: 'POST', body: JSON.stringify({ writeKey, userId: 'u1', event: 'Seen' }) }),
        source.writeKey,
      )
    },
    from: (page) => page.getByRole('button', { name: /^Show the body of/ }).first(),
    name: 'Seen',
  },
  {
    file: 'features/destinations/connect-page.tsx',
    path: () => '/catalog/webhooks',
    before: async (page) => {
      await page.getByLabel('Name of the destination').fill('Half done')
      await page.reload()
    },
    from: button('Start over'),
    name: 'Start over?',
  },
  {
    file: 'features/destinations/power-switch.tsx',
    path: ({ destination }) => `/destinations/${destination.id}`,
    from: (page) => page.getByRole('switch', { name: 'On' }),
    key: 'Space',
    name: 'Switch Test destination off?',
  },
  {
    file: 'features/destinations/rehearsal.tsx',
    path: ({ destination }) => `/destinations/${destination.id}`,
    from: button('Show the body of asked'),
    name: 'track · Asked',
  },
  {
    file: 'features/deliveries/steer-delivery.tsx',
    path: ({ source }) => deliveryPath(source, 'asked'),
    from: button('Cancel …'),
    name: 'Cancel the delivery',
    field: 'Why',
  },
  {
    file: 'features/deliveries/bulk-bar.tsx',
    path: ({ source }) => `/deliveries?sourceId=${source.id}`,
    from: button('Retry now …'),
    name: 'Retry now',
    field: 'Why',
  },
  {
    file: 'features/turned-away/turned-away-page.tsx',
    path: ({ source }) => `/turned-away?sourceId=${source.id}`,
    from: button('Show the body of refused'),
    name: 'track',
  },
  {
    file: 'features/audiences/audiences-page.tsx',
    path: () => '/audiences',
    from: button('Create an audience'),
    name: 'Create an audience',
    field: 'Name',
  },
  {
    file: 'features/audiences/audience-page.tsx',
    path: ({ audience }) => `/audiences/${audience.id}`,
    from: button('Resync'),
    name: 'Send every member again?',
  },
  {
    file: 'features/audiences/sync-users.tsx',
    path: ({ audience }) => `/audiences/${audience.id}`,
    from: button('Show its users'),
    name: 'Users of this sync',
  },
  {
    file: 'features/audiences/sync-history.tsx',
    path: ({ audience }) => `/audiences/${audience.id}`,
    from: button('Undo'),
    name: 'Undo this sync?',
  },
  {
    file: 'features/deletion-requests/deletion-requests-page.tsx',
    path: () => '/deletion-requests',
    from: button('Request a deletion'),
    name: 'Request a deletion',
    field: 'User ids',
  },
  {
    file: 'features/deletion-requests/deletion-requests-page.tsx',
    path: () => '/deletion-requests',
    from: button('Lift suppressions'),
    name: 'Lift suppressions',
    field: 'User ids',
  },
  {
    file: 'features/settings/audit-log.tsx',
    path: () => '/settings?tab=audit',
    from: (page) => page.getByRole('button', { name: /^Show Created / }).first(),
    name: /^Created/,
  },
  {
    file: 'features/alerts/alert-channels.tsx',
    path: () => '/alerts',
    from: button('Remove'),
    name: 'Remove Dialogs?',
  },
  {
    file: 'features/alerts/change-channel.tsx',
    path: () => '/alerts',
    from: button('Change'),
    name: 'Change Dialogs',
    field: 'Name of the channel',
  },
  {
    file: 'features/settings/tokens.tsx',
    path: () => '/settings?tab=tokens',
    from: button('Revoke Dialogs'),
    name: /Dialogs/,
  },
]

/** What opens something over a page: an element of the component library, or a question. */
const opening = /<(?:Dialog|Drawer|HoverCard|Menu|Modal|Popover|Spotlight)\s|\bconfirm\(\{/g

/** The parts that all of them are made of. */
const parts = ['shared/dialog.tsx', 'shared/confirm-dialog.tsx']

/** Presses of Tab after which the focus has been everywhere in a dialog. */
const maxTabs = 40

/** What Tab leads to in an element, and what of it the focus did not come to. */
async function unreachedByTab(page: Page, shown: Locator): Promise<string[]> {
  await shown.evaluate((element) => {
    const stops = [...element.querySelectorAll<HTMLElement>('button, input, select, textarea, a[href], [tabindex="0"]')]
    for (const stop of stops) {
      const isStop =
        stop.tabIndex >= 0 && !stop.matches(':disabled, [type=radio]:not(:checked)') && stop.checkVisibility()
      if (isStop) stop.dataset['unreached'] = stop.getAttribute('aria-label') ?? stop.textContent
    }
    element.addEventListener('focusin', ({ target }) => delete (target as HTMLElement).dataset['unreached'])
    delete (document.activeElement as HTMLElement).dataset['unreached']
  })
  const unreached = () =>
    shown.evaluate((element) =>
      [...element.querySelectorAll<HTMLElement>('[data-unreached]')].map((stop) => stop.outerHTML.slice(0, 200)),
    )
  for (let tabs = 0; tabs < maxTabs; tabs++) {
    if ((await unreached()).length === 0) return []
    await page.keyboard.press('Tab')
    expect(await shown.evaluate((element) => element.contains(document.activeElement))).toBe(true)
  }
  return unreached()
}

export const dialogs = (web: WebTest) =>
  describe('what opens over a page', () => {
    const scene = {} as Scene
    beforeAll(async () => {
      scene.receiver = await startReceiver()
      scene.source = await web.node.createSource('Dialogs')
      scene.destination = await web.node.connect([scene.source], [scene.receiver.url])
      const { node } = web
      const { source, destination } = scene
      await node.api('POST', `/sources/${source.id}/rotate-key`, { overlapSeconds: 3_600 })
      scene.source = (await node.api<Source>('GET', `/sources/${source.id}`)).body
      const { body: audience } = await node.api<Audience>('POST', '/audiences', {
        name: 'Dialogs',
        destinationIds: [destination.id],
      })
      scene.audience = audience
      await node.api('POST', `/audiences/${audience.id}/members`, { add: ['ada'] })
      await scene.receiver.received(1)
      await node.api('POST', '/tokens', { name: 'Dialogs', role: 'viewer' })
      const settings = { kind: 'slack', url: 'http://127.0.0.1:9/hook' }
      await node.api('POST', '/alert-channels', { name: 'Dialogs', settings })
      await node.api('PATCH', `/destinations/${destination.id}`, { paused: true, filter: { types: ['track'] } })
      await node.post('/track', scene.source.writeKey, { userId: 'ada', event: 'Asked', messageId: 'asked' })
      await node.post('/track', scene.source.writeKey, { userId: 'ada', messageId: 'refused' })
      await until('the delivery is listed', async () => {
        const { body } = await node.api<{ count: number }>('GET', `/deliveries/count?sourceId=${source.id}`)
        return body.count === 1
      })
    })
    afterAll(() => scene.receiver.close())

    it('is listed here, every one', () => {
      const root = resolve(import.meta.dirname, '../../../web/src')
      const found = readdirSync(root, { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.tsx') && !parts.includes(file))
        .flatMap((file) => [...readFileSync(resolve(root, file), 'utf8').matchAll(opening)].map(() => file))
      expect(openers.map(({ file }) => file).sort()).toEqual(found.sort())
    })

    it.each(openers)(
      '$name of $file is accessible in every look, is used with the keyboard alone, shifts nothing and gives the focus back',
      async ({
        path,
        before,
        from,
        key = 'Enter',
        role = 'dialog',
        name,
        stays,
        focusIsBackAt = from,
        field,
        file,
      }) => {
        const { page } = await web.open({ signedInTo: web.node.url })
        await page.goto(web.node.url + path(scene))
        await before?.(page, scene)
        const opener = from(page)
        await opener.scrollIntoViewIfNeeded()
        const heading = page.locator('h1').first()
        const place = (await heading.boundingBox())?.x
        await opener.focus()
        await page.keyboard.press(key)
        const shown = page.getByRole(role, { name })
        await shown.waitFor()
        // Some read what they show.
        await shown.getByLabel('Loading').waitFor({ state: 'detached' })
        await page.waitForFunction((wanted) => document.activeElement?.closest(`[role=${wanted}]`) !== null, role)
        expect((await heading.boundingBox())?.x).toBe(place)
        // What is typed to find something, or to sign in, is no loss.
        if (file !== 'shell/command-palette.tsx' && stays !== true)
          expect((await shown.getByRole('textbox').count()) > 0).toBe(field !== undefined)
        // Its head is not taken for the head of the page.
        expect(await page.getByRole('banner').count()).toBe(1)
        for (const look of [wideAndLight, wideAndDark, narrowAndDark]) {
          await show(page, look)
          expect(await seriousFindings(page), look.name).toEqual([])
          const box = await shown.boundingBox()
          expect((box?.x ?? 0) >= 0 && (box?.x ?? 0) + (box?.width ?? 0) <= look.width, look.name).toBe(true)
        }
        await show(page, wideAndLight)
        // In a menu, the arrows lead from one to the next.
        if (role === 'dialog') expect(await unreachedByTab(page, shown)).toEqual([])
        await page.keyboard.press('Escape')
        if (stays === true) return expect(await shown.count()).toBe(1)
        await shown.waitFor({ state: 'detached' })
        const back = await focusIsBackAt(page).elementHandle()
        await page.waitForFunction((element) => document.activeElement === element, back)
      },
    )

    it.each(openers.filter(({ field }) => field !== undefined))(
      '$name of $file asks before what was typed is lost, however it is closed',
      async ({ path, from, key = 'Enter', name, field }) => {
        const { page } = await web.open({ signedInTo: web.node.url })
        await page.goto(web.node.url + path(scene))
        const opener = from(page)
        const hasFocus = async (element: Locator) =>
          page.waitForFunction((one) => document.activeElement === one, await element.elementHandle())
        const open = async () => {
          await opener.focus()
          await page.keyboard.press(key)
        }
        const dialog = page.getByRole('dialog', { name, exact: true })
        const typed = dialog.getByRole('textbox', { name: field ?? '', exact: true })
        const question = page.getByRole('dialog', { name: 'Close without saving?' })
        await open()
        await typed.waitFor()
        await page.keyboard.press('Escape')
        await dialog.waitFor({ state: 'detached' })

        await open()
        await typed.fill('half a word')
        const ways = [
          () => page.keyboard.press('Escape'),
          () => page.mouse.click(5, 400),
          () => dialog.getByRole('button', { name: 'Close', exact: true }).first().click(),
        ]
        for (const close of ways) {
          await typed.focus()
          await close()
          await question.getByRole('button', { name: 'Go on editing' }).click()
          await question.waitFor({ state: 'detached' })
          expect(await typed.inputValue()).toBe('half a word')
        }
        await typed.focus()
        await page.keyboard.press('Escape')
        await question.waitFor()
        // It answers the question alone.
        await page.keyboard.press('Escape')
        await question.waitFor({ state: 'detached' })
        await hasFocus(typed)
        await page.mouse.click(5, 400)
        await question.getByRole('button', { name: 'Close without saving' }).click()
        await dialog.waitFor({ state: 'detached' })
        await hasFocus(opener)
        await open()
        await typed.waitFor()
        expect(await typed.inputValue()).not.toBe('half a word')
      },
    )
  })
