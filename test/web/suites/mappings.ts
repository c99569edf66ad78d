import { describe, it } from 'vitest'
import type { Destination } from '../../../src/schemas/destination.ts'
import { eventually, type WebTest } from '../browser.ts'

export const mappings = (web: WebTest) =>
  describe('the mapping of a destination', () => {
    it('is written as JSON, too, and seen by viewers', async () => {
      const { id } = await web.node.connect([], [], { mapping: { drop: ['context.ip'] } })
      const stored = async () => (await web.node.api<Destination>('GET', `/destinations/${id}`)).body.mapping
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/destinations/${id}`)
      const ways = page.getByRole('radiogroup', { name: 'Edit the mapping as' })
      await ways.getByRole('radio', { name: 'JSON' }).press('Space')
      const text = page.getByLabel('Mapping as JSON')
      await eventually(() => text.inputValue()).toContain('"context.ip"')
      await text.fill('{ "move": ["a"] }')
      await ways.getByRole('radio', { name: 'Form' }).press('Space')
      await page.getByText('A form cannot show this mapping').waitFor()
      const save = page.getByRole('button', { name: 'Save the mapping' })
      await save.click()
      await page.getByRole('alert').getByText('apping.move').waitFor()
      await text.fill('{ "keep": ["type"] }')
      await save.click()
      await eventually(stored).toEqual({ keep: ['type'] })
      await page.getByRole('button', { name: 'Discard changes to the mapping' }).waitFor({ state: 'hidden' })

      const { body: viewer } = await web.node.api<{ token: string }>('POST', '/tokens', {
        name: 'Sees mappings',
        role: 'viewer',
      })
      const other = await web.open({ signedInTo: web.node.url, token: viewer.token })
      await other.page.goto(`${web.node.url}/destinations/${id}`)
      await other.page.getByRole('region', { name: 'mapping' }).getByText('"keep"').waitFor()
    })
  })
