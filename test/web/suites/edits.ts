import { describe, expect, it } from 'vitest'
import type { AlertChannel, AlertRules } from '../../../src/schemas/alert.ts'
import type { Audience } from '../../../src/schemas/audience.ts'
import type { Destination } from '../../../src/schemas/destination.ts'
import type { Source } from '../../../src/schemas/source.ts'
import { adminToken } from '../../support/app.ts'
import { eventually, type WebTest } from '../browser.ts'

export const edits = (web: WebTest) =>
  describe('edits that are not saved', () => {
    const destination = async (name: string): Promise<string> => {
      const { id } = await web.node.connect([await web.node.createSource(name)], ['http://127.0.0.1:9/hook'])
      return `/destinations/${id}`
    }
    const nameOf = async (path: string): Promise<string> => (await web.node.api<Destination>('GET', path)).body.name

    it('are asked about before the page is left', async () => {
      const path = await destination('Edited')
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(web.node.url + path)
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Half done')
      await page.getByRole('link', { name: 'Sources' }).first().click()
      const question = page.getByRole('dialog', { name: 'Leave without saving?' })
      await question.getByRole('button', { name: 'Stay on the page' }).click()
      expect(await page.getByRole('textbox', { name: 'Name', exact: true }).inputValue()).toBe('Half done')
      await page.getByRole('link', { name: 'Sources' }).first().click()
      await question.getByRole('button', { name: 'Leave without saving' }).click()
      await page.getByRole('heading', { name: 'Sources', level: 1 }).waitFor()
      expect(await nameOf(path)).toBe('Test destination')

      await page.goto(web.node.url + path)
      await page.getByRole('textbox', { name: 'New source' }).fill('Half a source')
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByText('Create this source, or empty the field').waitFor()
      await page.getByRole('link', { name: 'Sources' }).first().click()
      await question.getByRole('button', { name: 'Leave without saving' }).click()
      await page.getByRole('heading', { name: 'Sources', level: 1 }).waitFor()

      const source = await web.node.createSource('Edited, too')
      await page.goto(`${web.node.url}/sources/${source.id}`)
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Half done')
      await page.getByRole('link', { name: 'Alerts' }).first().click()
      await question.getByRole('button', { name: 'Leave without saving' }).click()
      await page.getByRole('textbox', { name: 'An endpoint fails for so many minutes' }).fill('77')
      await page.getByRole('link', { name: 'Sources' }).first().click()
      await question.getByRole('button', { name: 'Stay on the page' }).click()
      expect(await page.getByRole('textbox', { name: 'An endpoint fails for so many minutes' }).inputValue()).toBe('77')
    })

    it('are asked about where something new is begun, and not once it is there', async () => {
      const { page } = await web.open({ signedInTo: web.node.url })
      const leave = () => page.getByRole('link', { name: 'Sources' }).first().click()
      const question = page.getByRole('dialog', { name: 'Leave without saving?' })
      await page.goto(`${web.node.url}/alerts`)
      const name = page.getByRole('textbox', { name: 'Name of the channel' })
      await name.fill('Half done')
      await leave()
      await question.getByRole('button', { name: 'Stay on the page' }).click()
      expect(await name.inputValue()).toBe('Half done')
      await leave()
      await question.getByRole('button', { name: 'Leave without saving' }).click()
      await page.getByRole('heading', { name: 'Sources', level: 1 }).waitFor()

      await page.getByRole('link', { name: 'Audiences' }).first().click()
      await page.getByRole('button', { name: 'Create an audience' }).first().click()
      const audience = page.getByRole('dialog', { name: 'Create an audience' })
      await audience.getByRole('textbox', { name: 'Name' }).fill('Half an audience')
      await page.goBack()
      await question.getByRole('button', { name: 'Stay on the page' }).click()
      await audience.getByRole('button', { name: 'Create', exact: true }).click()
      await page.getByRole('heading', { name: 'Half an audience', level: 1 }).waitFor()
    })

    it('are asked about in the dialogs of a page and in its tabs, and not once they are done', async () => {
      const { page } = await web.open({ signedInTo: web.node.url })
      const question = page.getByRole('dialog', { name: 'Leave without saving?' })
      const stay = async () => {
        await question.getByRole('button', { name: 'Stay on the page' }).click()
        await question.waitFor({ state: 'detached' })
      }
      const leave = () => question.getByRole('button', { name: 'Leave without saving' }).click()
      const heading = (name: string) => page.getByRole('heading', { name, level: 1 })
      const menu = (name: string) => page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name })
      await page.goto(`${web.node.url}/alerts`)
      await menu('Deletion requests').click()
      for (const name of ['Request a deletion', 'Lift suppressions']) {
        await page.getByRole('button', { name }).first().click()
        const users = page.getByRole('dialog', { name }).getByRole('textbox', { name: 'User ids' })
        await users.fill('ada')
        await page.goBack()
        await stay()
        expect(await users.inputValue()).toBe('ada')
        await page.goBack()
        await leave()
        await heading('Alerts').waitFor()
        await menu('Deletion requests').click()
      }

      await menu('Settings').click()
      const tab = (name: string) => page.getByRole('tab', { name })
      await tab('API tokens').click()
      const token = page.getByRole('textbox', { name: 'Name' })
      await token.fill('Half a token')
      await tab('Audit log').click()
      await stay()
      expect(await token.inputValue()).toBe('Half a token')
      await page.getByRole('button', { name: 'Create token' }).click()
      await page.getByText('Token “Half a token”: copy it now').waitFor()
      await tab('Audit log').click()
      await tab('Audit log').and(page.locator('[aria-selected="true"]')).waitFor()

      await menu('Sources').click()
      await page.getByRole('button', { name: 'Create a source' }).first().click()
      const source = page.getByRole('dialog', { name: 'Create a source' })
      await source.getByRole('textbox', { name: 'Name' }).fill('Half a source')
      await page.goBack()
      await stay()
      await source.getByRole('button', { name: 'Create', exact: true }).click()
      await heading('Half a source').waitFor()
    })

    it('are not left out of what is saved: a header without a name, an endpoint without a URL', async () => {
      const path = await destination('Complete')
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(web.node.url + path)
      const save = () => page.getByRole('button', { name: 'Save', exact: true }).click()
      const button = (name: string) => page.getByRole('button', { name, exact: true })
      await button('Add a header').click()
      await page.getByLabel('Value of header 1').fill('Bearer secret')
      await save()
      await page.getByText('Enter the name of the header').waitFor()
      await page.getByLabel('Name of header 1').fill('Authorization')
      await button('Add a header').click()
      await page.getByLabel('Name of header 2').fill('authorization')
      await save()
      await page.getByText('Another header has this name').waitFor()
      await button('Remove header 2').click()
      await button('Add an endpoint').click()
      await save()
      await page.getByText('Enter the URL, or remove the endpoint').waitFor()
      await button('Remove endpoint 2').click()
      await save()
      await page.getByText('Saved.').waitFor()
      const { webhooks } = (await web.node.api<Destination>('GET', path)).body.settings
      expect(webhooks.map(({ url, headers }) => [url, Object.keys(headers)])).toEqual([
        ['http://127.0.0.1:9/hook', ['Authorization']],
      ])
    })

    it('are not taken while others are saved, which would lose them, and go on where they stood', async () => {
      const path = await destination('Slowly saved')
      const { id } = await web.node.createSource('Slowly renamed')
      const { page } = await web.open({ signedInTo: web.node.url })
      const changes = { begun: 0, goOn: (): void => {} }
      await page.route('**/api/v1/**', async (route) => {
        if (!['PATCH', 'PUT'].includes(route.request().method())) return route.continue()
        changes.begun += 1
        await new Promise<void>((resolve) => (changes.goOn = resolve))
        await route.continue()
      })
      const field = (name: string) => page.getByRole('textbox', { name, exact: true })
      for (const [place, name, typed] of [
        [path, 'Name', 'Saved'],
        [`/sources/${id}`, 'Name', 'Renamed'],
        ['/alerts', 'An endpoint fails for so many minutes', '71'],
      ] as const) {
        const before = changes.begun
        await page.goto(web.node.url + place)
        await field(name).fill(typed)
        await field(name).press('Enter')
        await eventually(() => changes.begun).toBe(before + 1)
        await page.keyboard.type('2')
        expect(await field(name).inputValue()).toBe(typed)
        changes.goOn()
        await eventually(() => field(name).isEnabled()).toBe(true)
        await page.keyboard.type('3')
        expect(await field(name).inputValue()).toBe(`${typed}3`)
      }
    })

    it('are not taken from the moment on in which others are saved', async () => {
      const { id } = await web.node.createSource('At once')
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/sources/${id}`)
      const name = page.getByRole('textbox', { name: 'Name', exact: true })
      await name.fill('Saved at once')
      // Since it was typed, the page was drawn anew with newer figures: when the second come, the first are drawn.
      for (let read = 0; read < 2; read++)
        await page.waitForResponse((answer) => new URL(answer.url()).pathname === '/api/v1/destinations')
      const isTaken = await name.evaluate(async (field) => {
        field.closest('form')?.requestSubmit()
        // A key that is pressed right after Enter comes before what the page has put off.
        await globalThis.scheduler.postTask(() => {}, { priority: 'user-blocking' })
        return !field.matches(':disabled')
      })
      expect(isTaken).toBe(false)
      await page.getByText('Saved', { exact: true }).waitFor()
    })

    it('are asked about before who typed them signs out', async () => {
      const path = await destination('Signed out')
      const { page } = await web.open({ signedInTo: web.node.url })
      const signOut = async () => {
        await page.getByRole('button', { name: 'Account' }).click()
        await page.getByRole('menuitem', { name: 'Sign out' }).click()
      }
      await page.goto(web.node.url + path)
      const name = page.getByRole('textbox', { name: 'Name', exact: true })
      await name.fill('Half done')
      await signOut()
      const question = page.getByRole('dialog', { name: 'Sign out without saving?' })
      await question.getByRole('button', { name: 'Cancel' }).click()
      expect(await name.inputValue()).toBe('Half done')
      await signOut()
      await question.getByRole('button', { name: 'Sign out without saving' }).click()
      await page.getByRole('heading', { name: 'Sign in to Postrider' }).waitFor()
    })

    it('in the wizard are asked about on every page before who typed them signs out', async () => {
      const { page } = await web.open({ signedInTo: web.node.url })
      const question = page.getByRole('dialog', { name: 'Sign out without saving?' })
      const name = page.getByLabel('Name of the destination')
      const signOut = async () => {
        await page.goto(`${web.node.url}/sources`)
        await page.getByRole('button', { name: 'Account' }).click()
        await page.getByRole('menuitem', { name: 'Sign out' }).click()
      }
      await page.goto(`${web.node.url}/catalog/webhooks`)
      await name.fill('Half connected')
      await signOut()
      await question.getByText('You have not finished connecting a destination.').waitFor()
      await question.getByRole('button', { name: 'Cancel' }).click()
      await page.goto(`${web.node.url}/catalog/webhooks`)
      await eventually(() => name.inputValue()).toBe('Half connected')
      await signOut()
      await question.getByRole('button', { name: 'Sign out without saving' }).click()
      await page.getByLabel('Token').fill(adminToken)
      await page.keyboard.press('Enter')
      await page
        .getByRole('heading', { name: 'Sources', level: 1 })
        .or(page.getByRole('heading', { name: 'Overview', level: 1 }))
        .waitFor()

      // Who looks at the wizard alone, and types nothing, is not asked.
      const { items } = (await web.node.api<{ items: Destination[] }>('GET', '/destinations')).body
      const taken = items.map((destination) => destination.name)
      await page.goto(`${web.node.url}/catalog/webhooks`)
      await name.waitFor()
      // A name that is free stands there once it is known which are taken.
      await eventually(async () => taken.includes(await name.inputValue())).toBe(false)
      const free = await name.inputValue()
      await name.fill(`${free}!`)
      await name.fill(free)
      await signOut()
      await page.getByRole('heading', { name: 'Sign in to Postrider' }).waitFor()
    })

    it('in a dialog stay when the session ends there, and Escape leaves them alone', async () => {
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/sources`)
      await page.getByRole('button', { name: 'Create a source' }).first().click()
      const source = page.getByRole('dialog', { name: 'Create a source' })
      await source.getByRole('textbox', { name: 'Name' }).fill('Kept in its dialog')
      await page.context().clearCookies()
      await source.getByRole('button', { name: 'Create', exact: true }).click()
      const ended = page.getByRole('dialog', { name: 'Your session has ended' })
      await ended.getByLabel('Token').fill(adminToken)
      await page.keyboard.press('Escape')
      await ended.getByRole('button', { name: 'Sign in' }).click()
      await ended.waitFor({ state: 'detached' })
      await source.getByRole('button', { name: 'Create', exact: true }).click()
      await page.getByRole('heading', { name: 'Kept in its dialog', level: 1 }).waitFor()
    })

    it('of two tabs: the later one learns what the other changed before it overwrites it', async () => {
      const path = await destination('Two tabs')
      const { page: one } = await web.open({ signedInTo: web.node.url })
      const { page: two } = await web.open({ signedInTo: web.node.url })
      for (const page of [one, two]) await page.goto(web.node.url + path)
      const save = async (page: typeof one, name: string): Promise<void> => {
        await page.getByRole('textbox', { name: 'Name', exact: true }).fill(name)
        await page.getByRole('button', { name: 'Save', exact: true }).click()
      }
      await save(one, 'First')
      await one.getByText('Saved.').waitFor()
      await save(two, 'Second')
      const question = two.getByRole('alert').filter({ hasText: 'this has been changed in the meantime' })
      await question.getByText('This was changed since it was read: “Name”.').waitFor()
      expect(await nameOf(path)).toBe('First')
      await question.getByRole('button', { name: 'Discard mine and show what is saved' }).click()
      await two.getByRole('textbox', { name: 'Name', exact: true }).and(two.locator('[value="First"]')).waitFor()
      await save(two, 'Third')
      await two.getByText('Saved.').waitFor()
      expect(await nameOf(path)).toBe('Third')
      await save(one, 'Fourth')
      await one.getByRole('button', { name: 'Overwrite it with mine' }).click()
      await one.getByRole('heading', { name: 'Fourth', level: 1 }).waitFor()
      expect(await nameOf(path)).toBe('Fourth')
    })

    it('of two tabs: an endpoint that the other removed is made anew by who overwrites', async () => {
      const urls = ['http://127.0.0.1:9/one', 'http://127.0.0.1:9/two']
      const { id } = await web.node.connect([await web.node.createSource('Removed')], urls)
      const current = async () => (await web.node.api<Destination>('GET', `/destinations/${id}`)).body.settings.webhooks
      const [, kept] = await current()
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/destinations/${id}`)
      const first = page.getByRole('group', { name: 'Endpoint 1' }).getByLabel('URL')
      await first.waitFor()
      await web.node.api('PATCH', `/destinations/${id}`, { settings: { webhooks: [kept] } })
      await first.fill('http://127.0.0.1:9/mine')
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByText('This was changed since it was read: “Endpoints”.').waitFor()
      await page.getByRole('button', { name: 'Overwrite it with mine' }).click()
      await page.getByText('Saved.').waitFor()
      const saved = await current()
      expect(saved.map(({ url }) => url)).toEqual(['http://127.0.0.1:9/mine', 'http://127.0.0.1:9/two'])
      expect(saved[1]?.id).toBe(kept?.id)
    })

    it.each([
      ['before', 'Asked once'],
      ['after', 'Asked later'],
    ])(
      'of two tabs: an audience that another changed %s the trait was asked for is asked for each once',
      async (order, name) => {
        const { body: audience } = await web.node.api<Audience>('POST', '/audiences', { name })
        const path = `/audiences/${audience.id}`
        const { page } = await web.open({ signedInTo: web.node.url })
        const press = (button: string) => page.getByRole('button', { name: button, exact: true }).click()
        const changeElsewhere = () => web.node.api('PATCH', path, { maxPerSecond: 7 })
        const told = page.getByText('This was changed since it was read: “Most calls per second”.')
        await page.goto(web.node.url + path)
        await page.getByRole('textbox', { name: 'Name', exact: true }).fill(`${name}, renamed`)
        await page.getByLabel('Most calls per second').fill('9')
        if (order === 'before') await changeElsewhere()
        await press('Save')
        if (order === 'before') {
          await told.waitFor()
          await press('Overwrite it with mine')
        }
        await page.getByRole('button', { name: `Keep ${audience.key}`, exact: true }).waitFor()
        if (order === 'after') await changeElsewhere()
        await press(`Keep ${audience.key}`)
        if (order === 'after') {
          await told.waitFor()
          await press('Overwrite it with mine')
        }
        await page.getByRole('heading', { name: `${name}, renamed`, level: 1 }).waitFor()
        expect((await web.node.api<Audience>('GET', path)).body).toMatchObject({ key: audience.key, maxPerSecond: 9 })
      },
    )

    it('of the wizard do not overwrite without a question what others changed since it saved, also after a reload', async () => {
      const source = await web.node.createSource('Set up by two')
      const { page } = await web.open({ signedInTo: web.node.url })
      const button = (name: string) => page.getByRole('button', { name, exact: true })
      const saved = async (): Promise<Destination | undefined> =>
        (await web.node.api<{ items: Destination[] }>('GET', '/destinations?limit=200')).body.items.find(
          ({ sourceIds }) => sourceIds.includes(source.id),
        )
      const urls = async () => (await saved())?.settings.webhooks.map(({ url }) => url)
      /** Another administrator gives the destination these endpoints. */
      const changeElsewhere = async (...webhooks: string[]): Promise<void> => {
        const changes = { settings: { webhooks: webhooks.map((path) => ({ url: `http://127.0.0.1:9/${path}` })) } }
        await web.node.api('PATCH', `/destinations/${(await saved())?.id}`, changes)
      }
      const question = page.getByRole('alert').filter({ hasText: 'this has been changed in the meantime' })
      const first = page.getByRole('group', { name: 'Endpoint 1' }).getByLabel('URL')
      const isSaved = () => button('Send a test event').waitFor()
      await page.goto(`${web.node.url}/catalog/webhooks`)
      await page.getByLabel('Name of the destination').fill('Set up by two')
      await page.getByRole('checkbox', { name: 'Set up by two' }).check()
      await button('Next').click()
      await first.fill('http://127.0.0.1:9/mine')
      await button('Next').click()
      await button('Save and test').click()
      await isSaved()
      await button('Back').click()
      await button('Save and test').click()
      await isSaved()
      await changeElsewhere('theirs')
      await page.reload()
      await button('Back').click()
      await button('Save and test').click()
      await question.getByText('This was changed since it was read: “Endpoints”.').waitFor()
      expect(await urls()).toEqual(['http://127.0.0.1:9/theirs'])
      await button('Discard mine and show what is saved').click()
      await question.waitFor({ state: 'detached' })
      await button('Back').click()
      expect(await first.inputValue()).toBe('http://127.0.0.1:9/theirs')
      await first.fill('http://127.0.0.1:9/mine-again')
      await button('Next').click()
      await changeElsewhere('theirs', 'too')
      await button('Save and test').click()
      await button('Overwrite it with mine').click()
      await isSaved()
      expect(await urls()).toEqual(['http://127.0.0.1:9/mine-again'])
      await web.node.api('DELETE', `/destinations/${(await saved())?.id}`)
    })

    it('whose answer is lost are looked up, and a save of one is not said to be that of somebody else', async () => {
      const path = await destination('Answer lost')
      const { page } = await web.open({ signedInTo: web.node.url })
      /** The next change arrives, and its answer does not. */
      const loseAnswer = (url: RegExp) =>
        page.route(
          url,
          async (route) => {
            await route.fetch()
            await route.abort()
          },
          { times: 1 },
        )
      await page.goto(`${web.node.url}/settings?tab=tokens`)
      await page.getByRole('textbox', { name: 'Name' }).fill('Nobody knows it')
      await loseAnswer(/\/api\/v1\/tokens/)
      await page.getByRole('button', { name: 'Create token' }).click()
      await page.getByText('it may or may not be done').waitFor()
      await page.getByRole('row', { name: 'Nobody knows it' }).waitFor()

      await page.goto(web.node.url + path)
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Saved all the same')
      await loseAnswer(/\/api\/v1\/destinations\/dst_/)
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByText('it may or may not be done').waitFor()
      await page.getByRole('heading', { name: 'Saved all the same', level: 1 }).waitFor()
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByText('This was changed since it was read: “Name”.').waitFor()
      expect(await page.getByText('somebody else').count()).toBe(0)
      await page.getByRole('button', { name: 'Discard mine and show what is saved' }).click()
      const discard = page.getByRole('button', { name: 'Discard changes', exact: true })
      await discard.waitFor({ state: 'detached' })
      expect(await page.getByRole('textbox', { name: 'Name', exact: true }).inputValue()).toBe('Saved all the same')
    })

    it('of two tabs: the later one learns of alert rules and of names of sources that were saved meanwhile', async () => {
      const { id } = await web.node.createSource('Shared')
      const { page: one } = await web.open({ signedInTo: web.node.url })
      const { page: two } = await web.open({ signedInTo: web.node.url })
      const endpoint = (page: typeof one) =>
        page.getByRole('textbox', { name: 'An endpoint fails for so many minutes' })
      const inbox = (page: typeof one) => page.getByRole('textbox', { name: 'An event waits in the inbox' })
      const save = (page: typeof one) => page.getByRole('button', { name: 'Save rules' }).click()
      const rules = async () => (await web.node.api<AlertRules>('GET', '/alert-rules')).body
      for (const page of [one, two]) {
        await page.goto(`${web.node.url}/alerts`)
        await endpoint(page).waitFor()
      }
      await inbox(one).fill('31')
      await save(one)
      await one.getByText('Saved.').waitFor()
      await endpoint(two).fill('32')
      await save(two)
      const question = two.getByRole('alert').filter({ hasText: 'this has been changed in the meantime' })
      await question.getByText('“An event waits in the inbox for so many minutes”').waitFor()
      expect(await rules()).toMatchObject({ inboxOlderThanSeconds: 31 * 60 })
      await question.getByRole('button', { name: 'Discard mine and show what is saved' }).click()
      await eventually(() => inbox(two).inputValue()).toBe('31')
      await endpoint(two).fill('33')
      await save(two)
      await two.getByText('Saved.').waitFor()
      expect(await rules()).toMatchObject({ inboxOlderThanSeconds: 31 * 60, endpointFailingAfterSeconds: 33 * 60 })
      await inbox(one).fill('34')
      await save(one)
      await one.getByRole('button', { name: 'Overwrite it with mine' }).click()
      await eventually(rules).toMatchObject({ inboxOlderThanSeconds: 34 * 60 })

      for (const page of [one, two]) await page.goto(`${web.node.url}/sources/${id}`)
      const rename = async (page: typeof one, name: string): Promise<void> => {
        await page.getByRole('textbox', { name: 'Name', exact: true }).fill(name)
        await page.getByRole('button', { name: 'Rename' }).click()
      }
      await two.getByRole('textbox', { name: 'Name', exact: true }).waitFor()
      await rename(one, 'Shared by the first')
      await one.getByRole('heading', { name: 'Shared by the first', level: 1 }).waitFor()
      await rename(two, 'Shared by the second')
      await two.getByText('this has been changed in the meantime').waitFor()
      expect((await web.node.api<Source>('GET', `/sources/${id}`)).body.name).toBe('Shared by the first')
      await two.getByRole('button', { name: 'Overwrite it with mine' }).click()
      await two.getByRole('heading', { name: 'Shared by the second', level: 1 }).waitFor()
    })

    it('of two tabs: the later one learns of an alert channel that was changed meanwhile', async () => {
      const settings = { kind: 'email', smtpUrl: 'smtp://127.0.0.1:9', from: 'a@example.com', to: ['b@example.com'] }
      const { body: channel } = await web.node.api<AlertChannel>('POST', '/alert-channels', { name: 'Mail', settings })
      const recipients = async () => {
        const { body } = await web.node.api<AlertChannel>('GET', `/alert-channels/${channel.id}`)
        return [body.name, body.target]
      }
      const { page: one } = await web.open({ signedInTo: web.node.url })
      const { page: two } = await web.open({ signedInTo: web.node.url })
      const dialog = (page: typeof one) => page.getByRole('dialog', { name: 'Change Mail' })
      const to = (page: typeof one) => dialog(page).getByRole('textbox', { name: 'To' })
      const save = (page: typeof one) => dialog(page).getByRole('button', { name: 'Save the channel' }).click()
      for (const page of [one, two]) {
        await page.goto(`${web.node.url}/alerts`)
        await page.getByRole('row', { name: 'Mail' }).getByRole('button', { name: 'Change' }).click()
        await to(page).waitFor()
      }
      await to(one).fill('c@example.com')
      await save(one)
      await dialog(one).waitFor({ state: 'detached' })
      await to(two).fill('d@example.com')
      await save(two)
      const question = two.getByRole('alert').filter({ hasText: 'this has been changed in the meantime' })
      await question.getByText('This was changed since it was read: “To”.').waitFor()
      expect(await recipients()).toEqual(['Mail', 'c@example.com'])
      await question.getByRole('button', { name: 'Discard mine and show what is saved' }).click()
      await eventually(() => to(two).inputValue()).toBe('c@example.com')
      await web.node.api('PATCH', `/alert-channels/${channel.id}`, { settings: { ...settings, to: ['e@example.com'] } })
      await to(two).fill('f@example.com')
      await save(two)
      await question.getByRole('button', { name: 'Overwrite it with mine' }).click()
      await dialog(two).waitFor({ state: 'detached' })
      expect(await recipients()).toEqual(['Mail', 'f@example.com'])
      await web.node.api('DELETE', `/alert-channels/${channel.id}`)
    })

    it('stay when the session ends, and are saved after signing in beside them', async () => {
      const path = await destination('Ended')
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(web.node.url + path)
      await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Kept')
      await page.context().clearCookies()
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      const dialog = page.getByRole('dialog', { name: 'Your session has ended' })
      await dialog.getByLabel('Token').fill('not-the-token')
      await dialog.getByRole('button', { name: 'Sign in' }).click()
      await dialog.getByText('This token is unknown').waitFor()
      await dialog.getByLabel('Token').fill(adminToken)
      await dialog.getByRole('button', { name: 'Sign in' }).click()
      await dialog.waitFor({ state: 'detached' })
      // What still stands at the form is true in the new session, too.
      await page.getByText('Nothing was done, since your session had ended').waitFor()
      expect(await page.getByText('Your session has ended').count()).toBe(0)
      expect(await page.getByRole('textbox', { name: 'Name', exact: true }).inputValue()).toBe('Kept')
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByRole('heading', { name: 'Kept', level: 1 }).waitFor()
      expect(await nameOf(path)).toBe('Kept')
    })
  })
