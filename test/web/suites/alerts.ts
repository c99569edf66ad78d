import { describe, expect, it } from 'vitest'
import type { AlertRules } from '../../../src/schemas/alert.ts'
import { startReceiver } from '../../support/receiver.ts'
import { eventually, type WebTest } from '../browser.ts'

export const alerts = (web: WebTest) =>
  describe('alerts', () => {
    it('get a rule and a channel, are told there, stand in the history and are muted', async () => {
      await using slack = await startReceiver()
      await using receiver = await startReceiver()
      receiver.answer({ status: 503 })
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/`)
      await page.getByRole('link', { name: 'Alerts', exact: true }).click()
      await page.getByText('Nobody yet: alerts are shown on this page only.').waitFor()
      const rules = async () => (await web.node.api<AlertRules>('GET', '/alert-rules')).body
      await page.getByLabel('An endpoint fails for so many minutes').fill('0.05')
      await page.getByLabel('An event waits in the inbox for so many minutes').fill('')
      await page.getByLabel('So many percent of the attempts at an endpoint fail').fill('20')
      await page.getByLabel('Within so many minutes').fill('15')
      await page.getByLabel('A sync changed the size of an audience').fill('30')
      await page.getByLabel('A replaced write key or secret ends').fill('2')
      await page.getByRole('switch', { name: 'An endpoint is down' }).check()
      const preview = page.getByRole('region', { name: 'With these rules, open now' })
      const rotated = await web.node.createSource('With an old key')
      await web.node.api('POST', `/sources/${rotated.id}/rotate-key`, { overlapSeconds: 3_600 })
      await page.getByLabel('Within so many minutes').fill('')
      await preview.getByText('Not tried yet. Correct the fields above first.').waitFor()
      await page.getByLabel('Within so many minutes').fill('15')
      await page.getByLabel('A replaced write key or secret ends').fill('3')
      await preview.getByText('Replaced key ends: With an old key').waitFor()
      await web.node.api('DELETE', `/sources/${rotated.id}`)
      await page.getByRole('button', { name: 'Save rules' }).click()
      await eventually(rules).toEqual({
        endpointFailingAfterSeconds: 3,
        endpointFailedPercent: 20,
        endpointFailedMinutes: 15,
        endpointDown: true,
        destinationHeld: true,
        inboxOlderThanSeconds: null,
        syncFailed: true,
        audienceResizedPercent: 30,
        keyEndingWithinSeconds: 10_800,
      })

      await page.getByRole('combobox', { name: 'Kind' }).click()
      await page.getByRole('option', { name: 'Slack' }).click()
      await page.getByLabel('Name of the channel').fill('Ops')
      await page.getByLabel('URL').fill(`${slack.url}/services/secret-path`)
      await page.getByRole('button', { name: 'Add the channel' }).click()
      let channel = page.getByRole('row', { name: 'Ops' })
      await channel.getByRole('button', { name: 'Send a test' }).click()
      await channel.getByText('It accepted the test alert.').waitFor()
      // Alerts of keys that end are told beside them.
      const tests = () => slack.requests.filter(({ body }) => body.toString().includes('This is a test'))
      expect(tests()).toHaveLength(1)
      expect(await page.content()).not.toContain('secret-path')
      await channel.getByRole('button', { name: 'Change' }).click()
      const dialog = page.getByRole('dialog', { name: 'Change Ops' })
      await dialog.getByLabel('Name of the channel').fill('Night watch')
      await dialog.getByRole('button', { name: 'Save the channel' }).click()
      await dialog.waitFor({ state: 'detached' })
      channel = page.getByRole('row', { name: 'Night watch' })
      // Its URL has stayed.
      await channel.getByRole('button', { name: 'Send a test' }).click()
      await eventually(() => tests()[1]?.path).toBe('/services/secret-path')

      const source = await web.node.createSource('Watched')
      const { id } = await web.node.connect([source], [receiver.url], { name: 'Watched endpoint' })
      await web.node.post('/track', source.writeKey, { userId: 'u1', event: 'E' })
      const alert = page.getByRole('row', { name: /Endpoint fails: Watched endpoint/ })
      await alert.getByText('Open', { exact: true }).waitFor()
      const about = async () => slack.requests.map(({ body }) => body.toString()).join()
      await eventually(about).toContain(`${web.node.url}/destinations/${id}`)
      expect(await alert.getByRole('link').getAttribute('href')).toBe(`/destinations/${id}`)
      await alert.getByRole('button', { name: 'Mute for 1 h' }).click()
      await alert.getByText('Muted', { exact: true }).waitFor()
      await alert.getByRole('button', { name: 'Unmute' }).click()
      await alert.getByRole('button', { name: 'Mute for 1 h' }).waitFor()

      await web.node.api('DELETE', `/destinations/${id}`)
      await alert.getByText('Over', { exact: true }).waitFor()
      await alert.getByText('as it was removed').waitFor()
      await channel.getByRole('button', { name: 'Remove' }).click()
      await page.getByRole('button', { name: 'Remove the channel' }).click()
      await page.getByText('Nobody yet: alerts are shown on this page only.').waitFor()
      // The preview was refused while a field was empty.
      expect(errors.filter((error) => !error.includes('/alert-rules/preview'))).toEqual([])
    })

    it('name the bounds of a rule in the unit of its field, also where Enter is pressed in it', async () => {
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/alerts`)
      for (const [label, typed, told] of [
        ['An endpoint fails for so many minutes', '1441', 'At most 1,440 minutes.'],
        ['An event waits in the inbox for so many minutes', '2000', 'At most 1,440 minutes.'],
        ['A replaced write key or secret ends within so many hours', '721', 'At most 720 hours.'],
        ['So many percent of the attempts at an endpoint fail', '101', 'At most 100 %.'],
        ['Within so many minutes', '61', 'At most 60 minutes.'],
      ] as const) {
        await page.reload()
        await page.getByLabel(label).fill(typed)
        await page.getByLabel(label).press('Enter')
        await page.getByText(told, { exact: true }).waitFor()
        expect(await page.getByText('Saved. The rules apply').count()).toBe(0)
      }
    })

    it('say in their dialog that a channel is gone which was removed elsewhere', async () => {
      const channel = { name: 'Removed elsewhere', settings: { kind: 'slack', url: 'http://127.0.0.1:9/' } }
      const { body } = await web.node.api<{ id: string }>('POST', '/alert-channels', channel)
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/alerts`)
      const change = page.getByRole('row', { name: channel.name }).getByRole('button', { name: 'Change' })
      await change.waitFor()
      // The list is as it was.
      await page.route(/\/alert-channels$/, (route) => route.abort())
      await web.node.api('DELETE', `/alert-channels/${body.id}`)
      await change.click()
      const dialog = page.getByRole('dialog', { name: `Change ${channel.name}` })
      await dialog.getByText(/^No alert channel has the id .+: it may have been deleted\.$/).waitFor()
      expect(await dialog.getByText('Check the address').count()).toBe(0)
      expect(await page.getByRole('heading', { level: 1 }).allTextContents()).toEqual(['Alerts'])
    })
  })
