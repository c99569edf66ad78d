import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Page } from '../../../src/db/page.ts'
import type { Audience, Sync } from '../../../src/schemas/audience.ts'
import type { Destination } from '../../../src/schemas/destination.ts'
import { adminToken } from '../../support/app.ts'
import { startReceiver, type ReceivedRequest } from '../../support/receiver.ts'
import { eventually, type WebTest } from '../browser.ts'

export const audiences = (web: WebTest) =>
  describe('audiences', () => {
    const traitsOf = ({ body }: ReceivedRequest) => {
      const { userId, traits } = JSON.parse(body.toString()) as { userId: string; traits: object }
      return { userId, ...traits }
    }

    const putMembers = (audienceId: string, userIds: readonly string[]) =>
      fetch(`${web.node.url}/api/v1/audiences/${audienceId}/members`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'text/csv' },
        body: ['userId', ...userIds].join('\n'),
      })

    it('are created, filled from a file after a preview, and taken back', async () => {
      await using receiver = await startReceiver()
      const destination = await web.node.connect([], [receiver.url])
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/audiences`)
      await page.getByRole('button', { name: 'Create an audience' }).first().click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill('Big Spenders')
      await dialog.getByRole('combobox', { name: 'Destinations' }).press('ArrowDown')
      await page.getByRole('option', { name: 'Test destination' }).click()
      await dialog.getByRole('button', { name: 'Create', exact: true }).click()
      await page.getByRole('heading', { name: 'Big Spenders', level: 1 }).waitFor()
      await page.getByText('None yet. Upload members to begin the first one.').waitFor()

      const buffer = Buffer.from('userId\nada\ngrace\n')
      await page.locator('input[type=file]').setInputFiles({ name: 'members.csv', mimeType: 'text/csv', buffer })
      await page.getByRole('button', { name: 'Preview' }).click()
      await page.getByRole('row', { name: 'Test destination 2 0 0' }).waitFor()
      expect(receiver.requests).toEqual([])
      await page.getByRole('button', { name: 'Upload and sync' }).click()
      await page.getByText('2 sent').waitFor()
      expect((await receiver.received(2)).map(traitsOf)).toEqual([
        { userId: 'ada', big_spenders: true },
        { userId: 'grace', big_spenders: true },
      ])
      await page.getByRole('region', { name: 'Members' }).getByText('grace').waitFor()

      await page.getByRole('button', { name: 'Show its users' }).click()
      const told = page.getByRole('dialog').getByRole('region', { name: 'Users' })
      for (const { userId } of receiver.requests.map(traitsOf))
        await told.getByRole('row', { name: `${userId} Added Test destination Taken` }).waitFor()
      expect(await told.getByRole('row').count()).toBe(1 + receiver.requests.length)
      await page.getByRole('dialog').getByLabel('User id begins with').fill('gr')
      await eventually(() => told.getByRole('row').count()).toBe(2)
      await page.getByRole('dialog').getByRole('combobox', { name: 'Outcome' }).click()
      await page.getByRole('option', { name: 'Failed' }).click()
      await page.getByText('No user fits.').waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      await page.setViewportSize({ width: 375, height: 800 })
      await page.getByText(/(ago|just now); calls: 2$/).waitFor()
      await page.setViewportSize({ width: 1280, height: 800 })

      await page.getByRole('button', { name: 'Undo' }).click()
      await page.getByRole('button', { name: 'Undo the sync' }).click()
      const requests = await receiver.received(4)
      expect(requests.slice(2).map(traitsOf)).toEqual([
        { userId: 'ada', big_spenders: false },
        { userId: 'grace', big_spenders: false },
      ])
      await page.getByText('It has no members yet.').waitFor()

      // Its figures are those of deliveries: they do not deny the calls that were made.
      await page.goto(`${web.node.url}/destinations/${destination.id}`)
      await page.getByText('No event was sent to it.').waitFor()
      await page.getByText(/^Calls that syncs of audiences send are not among these/).waitFor()
      await page.getByRole('link', { name: 'Big Spenders' }).waitFor()
      expect(errors).toEqual([])
    })

    it('preview no call to a destination that is switched off, which the sync passes over', async () => {
      await using receiver = await startReceiver()
      const { id: off } = await web.node.connect([], [`${receiver.url}/off`], { name: 'Off', enabled: false })
      const { id: on } = await web.node.connect([], [`${receiver.url}/on`], { name: 'Listening' })
      const { body: audience } = await web.node.api<Audience>('POST', '/audiences', {
        name: 'Half told',
        destinationIds: [off, on],
      })
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/audiences/${audience.id}`)
      const buffer = Buffer.from('userId\nada\ngrace\n')
      await page.locator('input[type=file]').setInputFiles({ name: 'members.csv', mimeType: 'text/csv', buffer })
      await page.getByRole('button', { name: 'Preview' }).click()
      await page.getByRole('row', { name: 'Listening 2 0 0' }).waitFor()
      const calls = JSON.parse(
        (await page.getByRole('region', { name: 'first Identify calls' }).textContent()) ?? '',
      ) as {
        userId: string
      }[]
      await page.getByRole('row', { name: /^Off Switched off: the next sync passes it over/ }).waitFor()
      await page.getByRole('button', { name: 'Upload and sync' }).click()
      await page.getByText('2 sent').waitFor()
      expect(receiver.requests.map(traitsOf).map(({ userId }) => userId)).toEqual(calls.map(({ userId }) => userId))
      expect(errors).toEqual([])
    })

    it('say which paused destinations a sync waits for, until they are resumed', async () => {
      await using receiver = await startReceiver()
      const { id: paused } = await web.node.connect([], [`${receiver.url}/paused`], { name: 'At rest' })
      const { id: on } = await web.node.connect([], [`${receiver.url}/on`], { name: 'Awake' })
      await web.node.api('PATCH', `/destinations/${paused}`, { paused: true })
      const { body: audience } = await web.node.api<Audience>('POST', '/audiences', {
        name: 'Held',
        destinationIds: [paused, on],
      })
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/audiences/${audience.id}`)
      const buffer = Buffer.from('userId\nada\ngrace\n')
      await page.locator('input[type=file]').setInputFiles({ name: 'members.csv', mimeType: 'text/csv', buffer })
      await page.getByRole('button', { name: 'Upload and sync' }).click()
      const told = page.getByText('Calls to paused destinations wait until these are resumed: At rest')
      await told.waitFor()
      const paths = () => receiver.requests.map(({ path }) => path)
      await eventually(paths).toEqual(['/on', '/on'])
      await web.node.api('PATCH', `/destinations/${paused}`, { paused: false })
      await told.waitFor({ state: 'detached' })
      await page.getByText('4 sent').waitFor()
      expect(paths()).toEqual(['/on', '/on', '/paused', '/paused'])
      expect(errors).toEqual([])
    })

    it('are named before a destination is switched off that a sync has still to tell', async () => {
      await using receiver = await startReceiver()
      const { id } = await web.node.connect([], [receiver.url], { name: 'Owed calls' })
      await web.node.api('PATCH', `/destinations/${id}`, { paused: true })
      const { body: audience } = await web.node.api<Audience>('POST', '/audiences', {
        name: 'Told later',
        destinationIds: [id],
      })
      await putMembers(audience.id, ['ada', 'grace'])
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/destinations/${id}`)
      const enabled = async () => (await web.node.api<Destination>('GET', `/destinations/${id}`)).body.enabled
      await page.getByRole('switch', { name: 'On', exact: true }).press('Space')
      const question = page.getByRole('dialog', { name: 'Switch Owed calls off?' })
      await question.getByText('0 deliveries wait for it.').waitFor()
      await question.getByText('comes with the next sync after it is on again, of Told later.').waitFor()
      expect(await enabled()).toBe(true)
      await question.getByRole('button', { name: 'Switch off', exact: true }).click()
      await page.getByRole('switch', { name: 'Off', exact: true }).waitFor()
      const lastSync = async () =>
        (await web.node.api<Page<Sync>>('GET', `/audiences/${audience.id}/syncs`)).body.items[0]
      await eventually(lastSync).toMatchObject({ status: 'completed', sent: 0 })
      expect(receiver.requests).toEqual([])

      await web.node.api('PATCH', `/destinations/${id}`, { enabled: true, paused: false })
      await web.node.api('POST', `/audiences/${audience.id}/sync`)
      await eventually(() => receiver.requests.length).toBe(2)
      expect(errors).toEqual([])
    })

    it('say of a file that was changed after it was chosen that it is to be chosen again', async () => {
      await using receiver = await startReceiver()
      const { id } = await web.node.connect([], [receiver.url])
      const { body: audience } = await web.node.api<Audience>('POST', '/audiences', {
        name: 'Mended in between',
        destinationIds: [id],
      })
      const folder = await mkdtemp(join(tmpdir(), 'postrider-members-'))
      onTestFinished(() => rm(folder, { recursive: true }))
      const file = join(folder, 'members.csv')
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/audiences/${audience.id}`)
      const problem = (text: string) => page.getByRole('alert').getByText(text)
      const [preview, upload] = [
        page.getByRole('button', { name: 'Preview' }),
        page.getByRole('button', { name: 'Upload and sync' }),
      ]
      const choose = async (): Promise<void> => {
        const dialog = page.waitForEvent('filechooser')
        await page.getByRole('button', { name: 'Members' }).click()
        await (await dialog).setFiles(file)
      }
      await writeFile(file, 'id\nada\n')
      await choose()
      await preview.click()
      await problem('The members cannot be used: there is no column userId.').waitFor()
      await writeFile(file, 'userId\nada\ngrace\n')
      const changed =
        'Nothing was sent, since the file was changed, moved or deleted after it was chosen: choose it again.'
      for (const button of [preview, upload]) {
        await button.click()
        await problem(changed).waitFor()
      }
      await choose()
      await upload.click()
      await receiver.received(2)
      await page.getByRole('table').last().getByText('2 sent').waitFor()
      // The first preview was refused.
      expect(errors.filter((error) => !error.includes('400'))).toEqual([])
    })

    it('say of a file what the sync says of it, count the members that the table shows, and take back what changed', async () => {
      await using receiver = await startReceiver()
      const { id } = await web.node.connect([], [receiver.url])
      const { body: audience } = await web.node.api<Audience>('POST', '/audiences', {
        name: 'Careful Buyers',
        destinationIds: [id],
        maxRemovalShare: 1,
      })
      const path = `/audiences/${audience.id}`
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(web.node.url + path)
      const syncs = page.getByRole('table').last()
      const choose = (text: string) =>
        page
          .locator('input[type=file]')
          .setInputFiles({ name: 'members.ndjson', mimeType: 'application/x-ndjson', buffer: Buffer.from(text) })
      const upload = async (text: string): Promise<void> => {
        await choose(text)
        await page.getByRole('button', { name: 'Upload and sync' }).click()
      }

      await choose('"ada"\nnot json\n')
      await page.getByRole('button', { name: 'Preview' }).click()
      await page.getByText('The membership cannot be used: 1 of 2 rows are bad; line 2: it is not JSON.').waitFor()
      expect(await page.getByRole('button', { name: 'Upload and sync' }).isDisabled()).toBe(true)
      const members = async (): Promise<number> => (await web.node.api<Audience>('GET', path)).body.members

      // The list, open in another tab, follows.
      const list = await page.context().newPage()
      await list.goto(`${web.node.url}/audiences`)
      await list.getByRole('row', { name: /^Careful Buyers 0 / }).waitFor()
      await upload('"ada"\n"grace"\n"mary"\n"jean"\n')
      await syncs.getByText('4 sent').waitFor()
      await list.getByRole('row', { name: /^Careful Buyers 4 / }).waitFor()
      await list.close()
      await upload('"ada"\n')
      await syncs.getByText('3 sent').waitFor()
      await syncs
        .getByRole('row', { name: /3 sent/ })
        .getByRole('button', { name: 'Undo' })
        .click()
      await page.getByRole('button', { name: 'Undo the sync' }).click()
      await receiver.received(10)
      await eventually(() => syncs.getByText('3 sent').count()).toBe(2)
      // What was undone is not offered to be undone again.
      await eventually(() => syncs.getByRole('button', { name: 'Undo' }).count()).toBe(2)
      await page.getByRole('region', { name: 'Members', exact: true }).getByText('jean').waitFor()
      await page.getByText('Members', { exact: true }).first().locator('..').getByText('4', { exact: true }).waitFor()
      expect(await members()).toBe(4)

      await upload('"ada"\n"grace"\n"mary"\n"jean"\n')
      await syncs.getByRole('row', { name: /Completed upload \+0 −0 4 unchanged/ }).waitFor()
      expect(
        await syncs
          .getByRole('row', { name: /\+0 −0/ })
          .getByRole('button', { name: 'Undo' })
          .count(),
      ).toBe(0)

      await web.node.api('PATCH', path, { maxBadRowShare: 0.5 })
      await upload('"ada"\n"grace"\n"mary"\n"jean"\nnot json\n')
      await syncs
        .getByRole('row', { name: /^Completed/ })
        .getByText('1 of 5 rows could not be read as members, the first in line 5: it is not JSON')
        .waitFor()
      expect(receiver.requests).toHaveLength(10)
      expect(errors).toEqual([])
    })

    it('are named by the deliveries that they began, and name the destinations that they would leave', async () => {
      await using receiver = await startReceiver()
      receiver.answer({ status: 503 })
      const destination = await web.node.connect([], [receiver.url])
      const { body: audience } = await web.node.api<Audience>('POST', '/audiences', {
        name: 'Late readers',
        destinationIds: [destination.id],
        membership: { kind: 'push' },
      })
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/audiences/${audience.id}`)
      const choose = (text: string) =>
        page
          .locator('input[type=file]')
          .setInputFiles({ name: 'members.csv', mimeType: 'text/csv', buffer: Buffer.from(text) })
      await choose('nobody\nada\n')
      await page.getByRole('button', { name: 'Upload and sync' }).click()
      const refusal = page.getByText(/there is no column userId/)
      await refusal.waitFor()
      await choose('userId\nada\ngrace\n')
      expect(await refusal.count()).toBe(0)
      await page.getByRole('button', { name: 'Upload and sync' }).click()
      await page.getByText('2 retried as deliveries').waitFor()
      // What is retried has not been taken, and what is delivered later has.
      const member = page.getByRole('region', { name: 'Members', exact: true }).getByRole('row', { name: /ada/ })
      await member.getByText('0 of 1 destination, 1 has a delivery of its own').waitFor()
      receiver.answer({ status: 200 })
      await web.node.api('POST', `/deliveries/retry`, { sourceId: audience.id })
      await member.getByText('1 of 1 destination', { exact: true }).waitFor()
      await page.getByRole('link', { name: '2 retried as deliveries' }).click()
      const row = page.getByRole('row', { name: /identify.*Late readers/ }).first()
      await row.waitFor()
      await page.getByRole('combobox', { name: 'Source' }).and(page.locator('[value="Late readers"]')).waitFor()
      await row.getByRole('link', { name: 'identify' }).click()
      // Of the three calls of this user, the sync made and counts the first.
      await page.getByText('The sync counts that call; it is not among these attempts.').waitFor()
      await page.getByRole('group', { name: 'Result of Test destination' }).getByText('2 attempts').waitFor()
      await page.getByRole('button', { name: 'Redeliver …' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Redeliver', exact: true }).click()
      await page.getByText('Redelivery 1', { exact: true }).waitFor()
      await page.getByRole('group', { name: 'Result of Test destination' }).getByText('1 attempt').waitFor()
      expect(await page.getByText('A sync made the first call').count()).toBe(0)
      await page.getByRole('link', { name: 'Late readers' }).click()
      await page.getByRole('heading', { name: 'Late readers', level: 1 }).waitFor()
      await choose('userId\nlin\n')
      await page.getByRole('button', { name: 'Upload and sync' }).click()
      await page.getByText('It would remove 2 of 2 members from Test destination').waitFor()
      // Alerts tell the same where nobody knows ids.
      const { body } = await web.node.api<{ items: Sync[] }>('GET', `/audiences/${audience.id}/syncs`)
      expect(body.items[0]?.reason).toContain('from Test destination')
    })

    it('are fetched from an address, sent anew, paused and deleted', async () => {
      await using receiver = await startReceiver()
      await using members = await startReceiver()
      members.answer({ status: 200, headers: { 'content-type': 'application/x-ndjson' }, body: '{"userId":"ada"}\n' })
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/audiences`)
      await page.getByRole('button', { name: 'Create an audience' }).first().click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill('Fetched Readers')
      await dialog.getByRole('combobox', { name: 'Members come from' }).click()
      await page.getByRole('option', { name: 'A file at a URL' }).click()
      await dialog.getByLabel('URL').fill(members.url)
      await dialog.getByLabel('Headers').fill('X-Key 1')
      await dialog.getByRole('combobox', { name: 'Schedule' }).click()
      await page.getByRole('option', { name: 'At an interval' }).click()
      await dialog.getByLabel('Interval').fill('6h')
      await dialog.getByRole('button', { name: 'Create', exact: true }).click()
      await dialog.getByText('Line 1 is not a header').waitFor()
      await dialog.getByLabel('Headers').fill('X-Key: 1\nx-key: 2')
      await dialog.getByRole('button', { name: 'Create', exact: true }).click()
      await dialog.getByText('Line 2 is a header that another line has').waitFor()
      await dialog.getByLabel('Headers').fill('X-Key: 1')
      await dialog.getByRole('button', { name: 'Create', exact: true }).click()
      await page.getByRole('heading', { name: 'Fetched Readers', level: 1 }).waitFor()
      const path = new URL(page.url()).pathname
      const { id } = await web.node.connect([], [receiver.url])
      await web.node.api('PATCH', path, { destinationIds: [id] })

      await page.getByRole('button', { name: 'Sync now' }).click()
      expect((await receiver.received(1)).map(traitsOf)).toEqual([{ userId: 'ada', fetched_readers: true }])
      expect(members.requests[0]?.headers['x-key']).toBe('1')
      await page.getByText('Completed', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Resync' }).click()
      await page.getByRole('button', { name: 'Send all' }).click()
      expect((await receiver.received(2)).map(traitsOf)[1]).toEqual({ userId: 'ada', fetched_readers: true })

      await page.getByRole('button', { name: 'Pause schedule' }).click()
      await page.getByRole('button', { name: 'Resume schedule' }).waitFor()
      await page.getByRole('button', { name: 'Delete audience' }).click()
      await page.getByRole('button', { name: 'Delete the audience' }).click()
      await page.getByRole('heading', { name: 'Audiences', level: 1 }).waitFor()
      expect((await web.node.api('GET', path)).status).toBe(404)
      expect(errors).toEqual([])
    })

    it('are read in the format that is chosen where the address does not tell one', async () => {
      await using members = await startReceiver()
      members.answer({ status: 200, headers: {}, body: 'userId\nada\ngrace\n' })
      const { body } = await web.node.api<Audience>('POST', '/audiences', {
        name: 'Untold',
        kind: 'audience',
        destinationIds: [],
        membership: { kind: 'http', url: members.url },
      })
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/audiences/${body.id}`)
      await page.getByRole('button', { name: 'Preview' }).click()
      await page.getByText('its Content-Type is neither NDJSON nor CSV nor JSON: choose its format').waitFor()
      await page.getByRole('combobox', { name: 'Format' }).click()
      await page.getByRole('option', { name: 'CSV' }).click()
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByText('Saved', { exact: true }).waitFor()
      const stored = (await web.node.api<Audience>('GET', `/audiences/${body.id}`)).body
      expect(stored.membership).toMatchObject({ url: members.url, format: 'csv' })
      await page.reload()
      await eventually(() => page.getByRole('combobox', { name: 'Format' }).inputValue()).toBe('CSV')
      await page.getByRole('button', { name: 'Preview' }).click()
      await page.getByText('This audience has no destination yet: a sync would send nothing.').waitFor()
    })

    it('offer to confirm a sync that was refused until another one has come after it', async () => {
      await using receiver = await startReceiver()
      const { id } = await web.node.connect([], [receiver.url])
      const { body } = await web.node.api<Audience>('POST', '/audiences', { name: 'Guarded', destinationIds: [id] })
      const members = (userIds: string[]) => putMembers(body.id, userIds)
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/audiences/${body.id}`)
      const refused = page.getByRole('row', { name: /^Refused/ })
      const confirm = page.getByRole('button', { name: 'Confirm and continue' })
      await members(['ada', 'grace', 'linus'])
      await receiver.received(3)
      await members(['ada'])
      await refused.getByText('It would remove 2 of 3 members').waitFor()
      await confirm.waitFor()
      await members(['ada', 'grace', 'linus', 'mary'])
      await receiver.received(4)
      await refused.getByText('Another sync came after it: sync again if this is still to be done.').waitFor()
      expect(await confirm.count()).toBe(0)

      await members(['mary'])
      await confirm.click()
      expect(await receiver.received(7)).toHaveLength(7)
    })

    it('take another schedule, and say what is wrong with one', async () => {
      const { body: audience } = await web.node.api<Audience>('POST', '/audiences', {
        name: 'Fetched',
        membership: { kind: 'http', url: 'http://127.0.0.1:9/members' },
        schedule: { interval: '6h' },
      })
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/audiences/${audience.id}`)
      await page.getByRole('combobox', { name: 'Schedule' }).click()
      await page.getByRole('option', { name: 'By a cron expression' }).click()
      await page.getByLabel('Cron, in UTC').fill('every day')
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByText('Must have five fields, as in 0 6 * * *.').waitFor()
      await page.getByLabel('Cron, in UTC').fill('every day at six sharp')
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByText('Temporal does not accept this cron expression').waitFor()
      await page.getByLabel('Cron, in UTC').fill('30 4 * * 1')
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByText('Saved', { exact: true }).waitFor()
      const { body } = await web.node.api<Audience>('GET', `/audiences/${audience.id}`)
      expect(body.schedule).toEqual({ cron: '30 4 * * 1' })
      await page.getByText('cron 30 4 * * 1 in UTC').waitFor()
    })

    /** @returns the path of an audience with two members */
    async function createAudience(name: string): Promise<string> {
      const { body } = await web.node.api<Audience>('POST', '/audiences', { name })
      const path = `/audiences/${body.id}`
      await web.node.api('POST', `${path}/members`, { add: ['ada', { userId: 'grace', traits: { plan: 'pro' } }] })
      return path
    }

    it('take another query, destinations and guards, and tell the destinations before they are gone', async () => {
      await using receiver = await startReceiver()
      const { body: audience } = await web.node.api<Audience>('POST', '/audiences', {
        name: 'From a query',
        membership: { kind: 'sql', connectionString: 'postgres://u:p@127.0.0.1:9/db', query: 'select 1 as user_id' },
      })
      const path = `/audiences/${audience.id}`
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(web.node.url + path)
      await page.getByText('select 1 as user_id').first().waitFor()
      await page.getByRole('textbox', { name: 'Query' }).fill('select id as user_id from users')
      await page.getByLabel('Bad rows allowed').fill('0.04')
      await page.getByLabel('Most calls per second').fill('40')
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByText('Saved', { exact: true }).waitFor()
      expect((await web.node.api<Audience>('GET', path)).body).toMatchObject({
        membership: { kind: 'sql', host: '127.0.0.1', query: 'select id as user_id from users' },
        maxBadRowShare: 0.0004,
        maxRemovalShare: 0.5,
        maxPerSecond: 40,
      })
      await page.getByText('0.04 % of the rows').waitFor()
      await page.getByText('None yet. Press “Sync now” to begin the first one.').waitFor()

      const { id } = await web.node.connect([], [receiver.url])
      const pushed = await createAudience('Goodbye')
      await web.node.api('PATCH', pushed, { destinationIds: [id] })
      await web.node.api('POST', `${pushed}/sync`)
      await receiver.received(2)
      await page.goto(web.node.url + pushed)
      await page.getByText('2 sent').waitFor()
      await page.getByRole('button', { name: 'Delete audience' }).click()
      await page.getByText('Destinations are told first').waitFor()
      await page.getByRole('button', { name: 'Cancel' }).click()
      // Whom it cannot tell, it does not promise to tell.
      await web.node.api('PATCH', `/destinations/${id}`, { enabled: false, name: 'Deaf' })
      await page.reload()
      await page.getByRole('button', { name: 'Delete audience' }).click()
      await page.getByText('Not told, because switched off, and still treating its members as members: Deaf.').waitFor()
      await page.getByRole('button', { name: 'Cancel' }).click()
      await web.node.api('PATCH', `/destinations/${id}`, { enabled: true })
      await page.reload()
      await page.getByRole('button', { name: 'Delete audience' }).click()
      expect(await page.getByText('Not told').count()).toBe(0)
      await page.getByRole('button', { name: 'Delete the audience' }).click()
      const told = (await receiver.received(4)).slice(2).map(traitsOf)
      expect(told.map(({ userId, ...traits }) => [userId, (traits as { goodbye: unknown }).goodbye])).toEqual([
        ['ada', false],
        ['grace', false],
      ])
      expect(errors).toEqual([])
    })

    it('finds members of an audience by the beginning of their user ids', async () => {
      const path = await createAudience('Readers')
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(web.node.url + path)
      const members = page.getByRole('region', { name: 'Members' })
      await members.getByText('ada').waitFor()
      await page.getByLabel('User id begins with').fill('gr')
      await members.getByText('ada').waitFor({ state: 'detached' })
      await members.getByRole('row', { name: /grace.*"plan":"pro"/ }).waitFor()
      await page.getByLabel('User id begins with').fill('nobody')
      await page.getByText('No member’s user id begins with this.').waitFor()
    })

    it('reads no more members of a large audience than are asked for', async () => {
      const path = await createAudience('Crowd')
      const add = Array.from({ length: 300 }, (_, index) => `user-${1_000 + index}`)
      await web.node.api('POST', `${path}/members`, { add })
      const { page } = await web.open({ signedInTo: web.node.url })
      const further: string[] = []
      page.on('request', (request) => {
        const { pathname, searchParams } = new URL(request.url())
        if (pathname.endsWith('/members') && searchParams.has('cursor')) further.push(request.url())
      })
      await page.goto(web.node.url + path)
      const rows = page.getByRole('region', { name: 'Members' }).getByRole('row', { name: /user-1/ })
      await expect.poll(() => rows.count(), { timeout: 60_000 }).toBeGreaterThan(40)
      await page.getByRole('button', { name: 'Show more' }).first().click()
      await expect.poll(() => rows.count(), { timeout: 60_000 }).toBeGreaterThan(90)
      await page.getByLabel('User id begins with').fill('user-1299')
      await expect.poll(() => rows.count(), { timeout: 60_000 }).toBe(1)
      expect(further).toHaveLength(1)
    })

    it('renames an audience, and asks which trait to go on with', async () => {
      const path = await createAudience('Best Buyers')
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(web.node.url + path)
      await page.getByRole('textbox', { name: 'Name' }).fill('Best Customers')
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByRole('button', { name: 'Keep best_buyers' }).click()
      await page.getByRole('heading', { name: 'Best Customers', level: 1 }).waitFor()
      const { body } = await web.node.api<Audience>('GET', path)
      expect(body).toMatchObject({ name: 'Best Customers', key: 'best_buyers' })
    })
  })
