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
      await page.getByText('Nobody yet: alerts stand on this page alone.').waitFor()
      const rules = async () => (await web.node.api<AlertRules>('GET', '/alert-rules')).body
      await page.getByLabel('An endpoint fails for so many minutes').fill('0.05')
      await page.getByLabel('An event waits in the inbox for so many minutes').fill('')
      await page.getByRole('button', { name: 'Save rules' }).click()
      await eventually(rules).toEqual({
        endpointFailingAfterSeconds: 3,
        destinationHeld: true,
        inboxOlderThanSeconds: null,
      })

      await page.getByRole('combobox', { name: 'Kind' }).click()
      await page.getByRole('option', { name: 'Slack' }).click()
      await page.getByLabel('Name of the channel').fill('Ops')
      await page.getByLabel('URL').fill(`${slack.url}/services/secret-path`)
      await page.getByRole('button', { name: 'Add the channel' }).click()
      const channel = page.getByRole('row', { name: 'Ops' })
      await channel.getByRole('button', { name: 'Send a test' }).click()
      await channel.getByText('It took the test alert.').waitFor()
      expect((await slack.received(1))[0]?.body.toString()).toContain('This is a test')
      expect(await page.content()).not.toContain('secret-path')

      const source = await web.node.createSource('Watched')
      const { id } = await web.node.connect([source], [receiver.url], { name: 'Watched endpoint' })
      await web.node.post('/track', source.writeKey, { userId: 'u1', event: 'E' })
      const alert = page.getByRole('row', { name: /Endpoint fails: Watched endpoint/ })
      await alert.getByText('Open', { exact: true }).waitFor()
      const about = async () => slack.requests.map(({ body }) => body.toString()).join()
      await eventually(about).toContain(`${web.node.url}/destinations/${id}`)
      await alert.getByRole('button', { name: 'Mute for 1 h' }).click()
      await alert.getByText('Muted', { exact: true }).waitFor()
      await alert.getByRole('button', { name: 'Tell again' }).click()
      await alert.getByRole('button', { name: 'Mute for 1 h' }).waitFor()

      await web.node.api('DELETE', `/destinations/${id}`)
      await alert.getByText('Over', { exact: true }).waitFor()
      await channel.getByRole('button', { name: 'Remove' }).click()
      await page.getByRole('button', { name: 'Remove the channel' }).click()
      await page.getByText('Nobody yet: alerts stand on this page alone.').waitFor()
      expect(errors).toEqual([])
    })
  })
