import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Audience } from '../../../src/schemas/audience.ts'
import type { AuditEntry } from '../../../src/schemas/audit.ts'
import type { DeletionRequestDetail } from '../../../src/schemas/deletion-request.ts'
import { startReceiver } from '../../support/receiver.ts'
import { until } from '../../support/wait.ts'
import { eventually, seriousFindings, show, wideAndDark, wideAndLight, type WebTest } from '../browser.ts'

export const finding = (web: WebTest) =>
  describe('an operator finds', () => {
    it.each([
      ['empty', ''],
      ['a blank', ' '],
      ['a zero-width space', '\u200b'],
    ])('the delivery of a page whose name is %s, under its type', async (_, name) => {
      await using receiver = await startReceiver()
      const source = await web.node.createSource(`Unnamed ${JSON.stringify(name)}`)
      await web.node.connect([source], [receiver.url])
      await web.node.post('/page', source.writeKey, { userId: 'ada', name, messageId: 'unnamed' })
      const [request] = await receiver.received(1)
      expect(JSON.parse(request?.body.toString() ?? '')).toMatchObject({ type: 'page', name, messageId: 'unnamed' })
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/deliveries?sourceId=${source.id}`)
      await page.getByRole('row', { name: 'unnamed' }).getByRole('link', { name: 'page', exact: true }).click()
      await page.getByRole('heading', { level: 1, name: 'page', exact: true }).waitFor()
      expect(await seriousFindings(page)).toEqual([])
    })

    it('audiences and ids in the palette, with what there is of them', async () => {
      await using receiver = await startReceiver()
      const source = await web.node.createSource('Findable')
      // More than the palette shows.
      const namedLikeThem = Array.from({ length: 13 }, (_, n) => `Shop of u-find ${n}`)
      const shops = await Promise.all(namedLikeThem.map((name) => web.node.createSource(name)))
      const destination = await web.node.connect([source], [receiver.url])
      const { body: audience } = await web.node.api<Audience>('POST', '/audiences', { name: 'Night Owls' })
      await web.node.post('/track', source.writeKey, { userId: 'u-find', event: 'Found', messageId: 'm-find' })
      await web.node.post('/track', source.writeKey, { userId: 'u-find', messageId: 'm-refused' })
      await receiver.received(1)
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/deliveries`)
      // The palette opens from a field, too.
      await page.getByRole('search', { name: 'Filter deliveries' }).getByRole('textbox').last().focus()
      const type = async (text: string): Promise<void> => {
        await page.keyboard.press('Control+k')
        await page.getByRole('textbox', { name: 'Go to' }).fill(text)
      }
      const delivery = `event/${source.id}/m-find`
      await type(delivery)
      await page.getByRole('dialog').getByText('The delivery with this id').click()
      await page.getByRole('heading', { name: 'Found', level: 1 }).waitFor()
      await type('night')
      await page.getByRole('button', { name: 'Night Owls' }).click()
      await eventually(() => new URL(page.url()).pathname).toBe(`/audiences/${audience.id}`)
      for (const [id, name, path] of [
        [source.id, 'Findable', `/sources/${source.id}`],
        [audience.id, 'Night Owls', `/audiences/${audience.id}`],
        [receiver.url, 'Test destination', `/destinations/${destination.id}`],
      ] as const) {
        await type(id)
        await page.getByRole('dialog').getByRole('button', { name, exact: true }).click()
        await eventually(() => new URL(page.url()).pathname).toBe(path)
      }
      const dialog = page.getByRole('dialog')
      const rows = () => dialog.locator('[data-action]').allTextContents()
      const selected = () => dialog.locator('[data-selected]').allTextContents()
      await type('m-find')
      // What is there comes first, and is taken with one key.
      await eventually(rows).toEqual(['1 delivery of this messagem-find', 'No delivery of this userm-find'])
      await eventually(selected).toEqual(['1 delivery of this messagem-find'])
      for (const look of [wideAndLight, wideAndDark]) {
        await show(page, look)
        expect(await seriousFindings(page), look.name).toEqual([])
      }
      await page.keyboard.press('Enter')
      await eventually(() => new URL(page.url()).search).toBe('?messageId=m-find')
      // The next id is typed while the numbers of the one before are there.
      await type('m-find')
      await dialog.getByText('1 delivery of this message').waitFor()
      await page.getByRole('textbox', { name: 'Go to' }).fill(source.id)
      await eventually(rows).toEqual([
        'Findable',
        `No delivery of this user${source.id}`,
        `No delivery of this message${source.id}`,
      ])
      await eventually(selected).toEqual(['Findable'])
      // Names that have the id do not push it out.
      await page.getByRole('textbox', { name: 'Go to' }).fill('u-find')
      await dialog.getByText('1 delivery of this user').click()
      await eventually(() => new URL(page.url()).search).toBe('?userId=u-find')
      // Opened again as soon as it is closed, it begins empty, also where things move.
      await page.emulateMedia({ reducedMotion: 'no-preference' })
      await type('before')
      await page.keyboard.press('Escape')
      await page.keyboard.press('Control+k')
      await page.locator('input[aria-label="Go to"]:focus').waitFor()
      await page.keyboard.type('night')
      await eventually(() => page.getByRole('textbox', { name: 'Go to' }).inputValue()).toBe('night')
      await page.keyboard.press('Escape')
      await page.emulateMedia({ reducedMotion: 'reduce' })
      for (const { id } of shops) await web.node.api('DELETE', `/sources/${id}`)
      await page.keyboard.press('Control+k')
      await page.getByRole('textbox', { name: 'Go to' }).fill('m-refused')
      await dialog.getByText('An event that was turned away').click()
      await page.getByRole('heading', { name: 'Turned away', level: 1 }).waitFor()
      expect(errors).toEqual([])
    })

    it('what there is of an id that is pasted into the palette and confirmed at once', async () => {
      await using receiver = await startReceiver()
      const source = await web.node.createSource('Pasted')
      await web.node.connect([source], [receiver.url])
      await web.node.post('/track', source.writeKey, { userId: 'u-pasted', event: 'Pasted', messageId: 'm-pasted' })
      await receiver.received(1)
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      // Answers come later than Enter.
      await page.route(/\/deliveries\/count\?/, async (route) => {
        await sleep(1_000)
        await route.continue()
      })
      for (const [id, search] of [
        ['m-pasted', '?messageId=m-pasted'],
        ['u-pasted', '?userId=u-pasted'],
      ] as const) {
        await page.goto(`${web.node.url}/settings`)
        await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor()
        await page.keyboard.press('Control+k')
        await page.getByRole('textbox', { name: 'Go to' }).fill(id)
        await page.getByRole('dialog').getByText(id, { exact: true }).waitFor()
        await page.keyboard.press('Enter')
        await eventually(() => new URL(page.url()).search).toBe(search)
        await page.getByRole('link', { name: 'Pasted', exact: true }).waitFor()
      }
      // What was confirmed once is over: typed again, it waits for Enter.
      await page.keyboard.press('Control+k')
      await page.getByRole('textbox', { name: 'Go to' }).fill('u-pasted')
      await page.getByRole('dialog').getByText('1 delivery of this user').waitFor()
      expect(await page.getByRole('dialog').isVisible()).toBe(true)
      expect(errors).toEqual([])
    })

    it('in the palette what came after it was opened for the first time, and while it is open', async () => {
      await using receiver = await startReceiver()
      const source = await web.node.createSource('Later')
      await web.node.connect([source], [receiver.url])
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/settings`)
      await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor()
      const dialog = page.getByRole('dialog')
      const field = page.getByRole('textbox', { name: 'Go to' })
      await page.keyboard.press('Control+k')
      await field.waitFor()
      await page.keyboard.press('Escape')
      await field.waitFor({ state: 'detached' })
      await web.node.api('POST', '/audiences', { name: 'Early Birds' })
      await page.keyboard.press('Control+k')
      await field.fill('early b')
      await dialog.getByRole('button', { name: 'Early Birds' }).waitFor()
      await field.fill('m-later')
      await dialog.getByText('No delivery of this message').waitFor()
      await web.node.post('/track', source.writeKey, { userId: 'u-later', event: 'Late', messageId: 'm-later' })
      await receiver.received(1)
      await dialog.getByText('1 delivery of this message').waitFor()
      expect(errors).toEqual([])
    })

    it('what is typed while the palette is loaded, as its first letters', async () => {
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.route(/command-palette/, async (route) => {
        await sleep(1_500)
        await route.continue()
      })
      await page.goto(`${web.node.url}/sources`)
      await page.getByRole('heading', { level: 1, name: 'Sources' }).waitFor()
      await page.keyboard.press('Control+k')
      await page.keyboard.type('aux')
      await page.keyboard.press('Backspace')
      await page.locator('input[aria-label="Go to"]:focus').waitFor()
      await page.keyboard.type('dit')
      await eventually(() => page.getByRole('textbox', { name: 'Go to' }).inputValue()).toBe('audit')
      expect(errors).toEqual([])
    })

    it('deletion requests and how far they are, and the changes of one kind by name', async () => {
      await using receiver = await startReceiver()
      const source = await web.node.createSource('Forgetful')
      await web.node.connect([source], [receiver.url])
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/deletion-requests`)
      await page.getByRole('button', { name: 'Request a deletion' }).first().click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('User ids').fill('gone-1\ngone-2\n gone-1 \n')
      await dialog.getByRole('combobox', { name: 'Sources' }).press('ArrowDown')
      await page.getByRole('option', { name: 'Forgetful' }).click()
      await page.keyboard.press('Tab')
      await dialog.getByRole('button', { name: 'Delete 2 users' }).click()
      const told = (await receiver.received(2)).map(
        ({ body }) => (JSON.parse(body.toString()) as { type: string }).type,
      )
      expect(told).toEqual(['delete', 'delete'])
      await page.getByRole('row', { name: /Completed 2 2 of 2 started.*Forgetful/ }).waitFor()

      await page.goto(`${web.node.url}/settings?tab=audit`)
      const requested = page.getByRole('row', { name: /Created deletion request of 2 users/ }).first()
      expect(await requested.getByRole('link').getAttribute('href')).toBe('/deletion-requests')
      await page.getByRole('combobox', { name: 'Changes of' }).click()
      await page.getByRole('option', { name: 'Refused sign-ins', exact: true }).waitFor()
      await page.getByRole('option', { name: 'Sources' }).click()
      await page.getByRole('row', { name: /Created deletion request/ }).waitFor({ state: 'detached' })
      await page
        .getByRole('row', { name: /admin Created source Forgetful/ })
        .getByRole('link')
        .click()
      await page.getByRole('heading', { name: 'Forgetful', level: 1 }).waitFor()
      expect(errors).toEqual([])
    })

    it('that a deletion request is not completed while a notification waits to be tried again', async () => {
      await using receiver = await startReceiver()
      receiver.answer({ status: 503 })
      const source = await web.node.createSource('Slow to forget')
      await web.node.connect([source], [receiver.url])
      const { body } = await web.node.api<DeletionRequestDetail>('POST', '/deletion-requests', {
        userIds: ['slow-1'],
        sourceIds: [source.id],
      })
      await receiver.received(1)
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/deletion-requests`)
      const rowAs = (status: string) => page.getByRole('row', { name: new RegExp(`${status}.*Slow to forget`) })
      await rowAs('Started 1 1 of 1 started 0 not yet').waitFor()
      receiver.answer({})
      await until('the notification is retried', async () => {
        await web.node.api('POST', '/deliveries/retry', { sourceId: source.id })
        return receiver.requests.length > 1
      })
      await rowAs('Completed 1 1 of 1 started').waitFor()
      const answer = await web.node.api<DeletionRequestDetail>('GET', `/deletion-requests/${body.id}`)
      expect(answer.body).toMatchObject({ delivered: 1, keys: 1, erasedAt: expect.any(String) as string })
      const { deliveries } = answer.body
      await rowAs(`Completed .* ${deliveries} ${deliveries === 1 ? 'delivery' : 'deliveries'}, 1 key`).waitFor()
      expect(errors).toEqual([])
    })

    it('who is suppressed, and who not any more', async () => {
      await using receiver = await startReceiver()
      const source = await web.node.createSource('Comeback')
      await web.node.connect([source], [receiver.url])
      const { body } = await web.node.api<DeletionRequestDetail>('POST', '/deletion-requests', {
        userIds: ['back-1'],
        sourceIds: [source.id],
        suppress: true,
      })
      await until('it is carried out', async () => {
        const answer = await web.node.api<DeletionRequestDetail>('GET', `/deletion-requests/${body.id}`)
        return answer.body.status === 'completed'
      })
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/deletion-requests`)
      await page.getByRole('button', { name: 'Lift suppressions' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('User ids').fill('back-1')
      await dialog.getByRole('button', { name: 'Lift the suppression of 1 user' }).click()
      await page.getByText('Events of 1 user are delivered again').waitFor()
      await web.node.post('/track', source.writeKey, { userId: 'back-1', event: 'Back', messageId: 'came-back' })
      await until('the event arrives', () => receiver.requests.some(({ body }) => body.includes('came-back')))

      await page.goto(`${web.node.url}/settings?tab=audit`)
      await page.getByRole('row', { name: /admin Lifted suppressions of 1 user/ }).waitFor()
      expect(errors).toEqual([])
    })

    it('what was done to all deliveries that matched a filter, with their number', async () => {
      const source = await web.node.createSource('Nothing to retry')
      await web.node.api('POST', '/deliveries/retry', { sourceId: source.id })
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/settings?tab=audit`)
      const row = page.getByRole('row', { name: /Retried deliveries 0 that matched a filter/ })
      await row.first().waitFor()
      // It is no delivery that could be opened.
      expect(await row.first().getByRole('link').count()).toBe(0)
    })

    it('which message was delivered once more', async () => {
      await using receiver = await startReceiver()
      const source = await web.node.createSource('Sent again')
      await web.node.connect([source], [receiver.url])
      await web.node.post('/track', source.writeKey, { userId: 'u1', event: 'Again', messageId: 'named/in-the-log' })
      await receiver.received(1)
      const id = encodeURIComponent(`event/${source.id}/named/in-the-log`)
      await until('it is redelivered', async () => {
        const { status } = await web.node.api('POST', `/deliveries/${id}/redeliver`)
        return status < 300
      })
      await receiver.received(2)
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/settings?tab=audit`)
      await page.getByRole('link', { name: 'named/in-the-log', exact: true }).click()
      await page.getByRole('heading', { name: 'Again', level: 1 }).waitFor()
    })

    it('what was done in words, with a link only to what has a page', async () => {
      const source = await web.node.createSource('In words')
      const { body } = await web.node.api<{ id: string }>('POST', '/deliveries/cancel', { sourceId: source.id })
      await web.node.api('POST', `/deliveries/bulk/${body.id}/stop`)
      await web.node.api('POST', '/destinations/test', { settings: { webhooks: [{ url: 'http://127.0.0.1:9/' }] } })
      const { body: rules } = await web.node.api<object>('GET', '/alert-rules')
      await web.node.api('PUT', '/alert-rules', rules)
      const channel = { name: 'Told of in words', settings: { kind: 'webhook', url: 'http://127.0.0.1:9/' } }
      const { id } = (await web.node.api<{ id: string }>('POST', '/alert-channels', channel)).body
      await web.node.api('POST', `/alert-channels/${id}/test`)
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/settings?tab=audit`)
      for (const told of [
        'admin Replaced alert rules Show',
        'admin Sent a test alert to channel .+ Show',
        'admin Sent a test event to an endpoint as it was typed Show',
        'admin Stopped an action on many deliveries Show',
      ]) {
        const row = page.getByRole('row', { name: new RegExp(told) }).first()
        await row.waitFor()
        expect(await row.getByRole('link').count()).toBe(0)
      }
      await page.getByRole('combobox', { name: 'Changes of' }).click()
      await page.getByRole('option', { name: 'Alerts' }).click()
      await page.getByRole('row', { name: /many deliveries/ }).waitFor({ state: 'detached' })
      await page
        .getByRole('row', { name: /Replaced alert rules/ })
        .first()
        .waitFor()
    })

    it('what a change changed, member by member, without its secrets', async () => {
      await using receiver = await startReceiver()
      const source = await web.node.createSource('Before its rename')
      const destination = await web.node.connect([source], [receiver.url])
      const change = (path: string, body: object) => web.node.api('PATCH', path, body)
      await change(`/sources/${source.id}`, { name: 'After its rename', enabled: false })
      const webhooks = [{ url: `${receiver.url}/moved`, headers: { 'X-Key': 'hidden-value' } }]
      await change(`/destinations/${destination.id}`, { paused: true, settings: { sharedSecret: 'hush', webhooks } })
      const added = await web.node.createSource('Added to it')
      const shared = await web.node.connect([source], [receiver.url], { name: 'Takes from two' })
      await change(`/destinations/${shared.id}`, { sourceIds: [source.id, added.id] })

      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/settings?tab=audit`)
      const differences = async (row: RegExp): Promise<string[][]> => {
        await page.getByRole('row', { name: row }).first().getByRole('button', { name: 'Show' }).click()
        const table = page.getByRole('table', { name: 'Differences' })
        await table.waitFor()
        const rows = await table.locator('tbody tr').all()
        const cells = await Promise.all(rows.map((one) => one.locator('td').allTextContents()))
        await page.keyboard.press('Escape')
        await page.getByRole('dialog').waitFor({ state: 'detached' })
        return cells
      }
      expect(await differences(/Changed source After its rename/)).toEqual([
        ['name', '"Before its rename"', '"After its rename"'],
        ['enabled', 'true', 'false'],
      ])
      const ofDestination = await differences(/Changed destination Test destination/)
      expect(ofDestination).toEqual(
        expect.arrayContaining([
          ['paused', 'false', 'true'],
          ['settings.webhooks.0.url', `"${receiver.url}"`, `"${receiver.url}/moved"`],
        ]),
      )
      expect(JSON.stringify(ofDestination)).not.toMatch(/hidden-value|hush/)
      expect(await differences(/Changed destination Takes from two/)).toEqual([['sourceIds', '–', 'Added to it']])
      const { body } = await web.node.api<{ items: AuditEntry[] }>(
        'GET',
        `/audit-log?subject=sources/${source.id}&limit=1`,
      )
      expect(body.items[0]).toMatchObject({
        action: 'sources.update',
        before: { name: 'Before its rename', enabled: true },
        after: { name: 'After its rename', enabled: false },
      })
      expect(errors).toEqual([])
    })
  })
