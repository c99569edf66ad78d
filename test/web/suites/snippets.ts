import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startTestApp } from '../../support/app.ts'
import { startReceiver } from '../../support/receiver.ts'
import { eventually, signIn, type WebTest } from '../browser.ts'

const run = promisify(execFile)

/** The snippet of this name, as somebody copies it. */
async function copied(page: Page, name: string): Promise<string> {
  await page.getByRole('tab', { name, exact: true }).click()
  return page.getByRole('region', { name: `${name} snippet` }).innerText()
}

export const snippets = (web: WebTest) =>
  describe('the snippets of a source', () => {
    it('run as they are shown: in Node with the library that the server offers, and in a page of another site', async () => {
      await using receiver = await startReceiver()
      const source = await web.node.createSource('Copied')
      await web.node.connect([source], [receiver.url])
      const { page, errors } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/sources/${source.id}`)

      const forNode = await copied(page, 'Node')
      await page.getByText('Save the code as a file that ends in .mjs.').waitFor()
      const install = /npm (install http\S+)/.exec(forNode)?.[1] ?? ''
      const folder = await mkdtemp(join(tmpdir(), 'postrider-snippet-'))
      onTestFinished(() => rm(folder, { recursive: true }))
      await writeFile(join(folder, 'package.json'), '{ "private": true }')
      await run('npm', [...install.split(' '), '--no-audit', '--no-fund'], { cwd: folder })
      await writeFile(join(folder, 'snippet.mjs'), forNode)
      await run(process.execPath, ['snippet.mjs'], { cwd: folder })
      const ofNode = (await receiver.received(2)).map(({ body }) => (JSON.parse(body.toString()) as Sent).type)
      expect(ofNode.sort()).toEqual(['identify', 'track'])

      await using site = await startReceiver()
      site.answer({ headers: { 'content-type': 'text/html' }, body: await copied(page, 'Browser') })
      await page.goto(site.url)
      await page.goto('about:blank')
      const last = (await receiver.received(3))[2]
      expect(JSON.parse(last?.body.toString() ?? '')).toMatchObject({ type: 'page', properties: { path: '/' } })
      expect(errors).toEqual([])
    })

    it('are copied by their button, also from a node that is reached by plain HTTP', async () => {
      const source = await web.node.createSource('By button')
      const { page } = await web.open()
      await page.context().grantPermissions(['clipboard-read'], { origin: web.node.url })
      // No secure context for a browser, as with any host but localhost.
      const address = `http://postrider.test:${new URL(web.node.url).port}`
      await signIn(page, address)
      await page.goto(`${address}/sources/${source.id}`)
      expect(await page.evaluate(() => window.isSecureContext)).toBe(false)
      await page.getByRole('button', { name: 'Copy curl snippet' }).click()
      await page.getByRole('button', { name: 'Copied' }).waitFor()
      const beside = await page.context().newPage()
      await beside.goto(web.node.url)
      await eventually(() => beside.evaluate(() => navigator.clipboard.readText())).toContain('/v1/track -u')
    })

    it('lead to where events are taken when the app has a port of its own', async () => {
      await using node = await startTestApp({ environment: { POSTRIDER_ADMIN_PORT: '0' } })
      await using receiver = await startReceiver()
      const { ingestUrl } = node.app
      const source = await node.createSource('Elsewhere')
      await node.connect([source], [receiver.url])
      const { page } = await web.open({ signedInTo: node.url })
      await page.goto(`${node.url}/sources/${source.id}`)
      const command = await copied(page, 'curl')
      expect(command).toContain(`curl ${ingestUrl}/v1/track`)
      await run('sh', ['-c', command])
      await receiver.received(1)
      for (const name of ['Node', 'Browser', 'Go', 'Python', 'Kotlin', 'Swift'])
        expect(await copied(page, name)).toContain(new URL(ingestUrl).host)
      for (const file of ['client.tgz', 'client.js'])
        expect((await fetch(`${ingestUrl}/${file}`)).status, file).toBe(200)
    })

    it('lead to the address that the installation has for sources', async () => {
      const address = 'https://events.example.com'
      await using node = await startTestApp({ environment: { POSTRIDER_INGEST_URL: `${address}/` } })
      const source = await node.createSource('Behind a proxy')
      const { page } = await web.open({ signedInTo: node.url })
      await page.goto(`${node.url}/sources/${source.id}`)
      expect(await copied(page, 'curl')).toContain(`curl ${address}/v1/track`)
      for (const name of ['Node', 'Browser', 'Go', 'Python', 'Kotlin', 'Swift'])
        expect(await copied(page, name)).toContain('events.example.com')
    })

    it('name all that a program in another language needs', async () => {
      const source = await web.node.createSource('Translated')
      const { page } = await web.open({ signedInTo: web.node.url })
      await page.goto(`${web.node.url}/sources/${source.id}`)
      const { host } = new URL(web.node.url)
      expect(await copied(page, 'Go')).toMatch(/^package main\n\nimport "gopkg\.in\/segmentio\/analytics-go\.v3"\n/)
      await page.getByText('go mod init example && go get gopkg.in/segmentio/analytics-go.v3').waitFor()
      for (const name of ['Kotlin', 'Swift']) {
        const snippet = await copied(page, name)
        expect(snippet).toContain(source.writeKey)
        expect(snippet).toContain(`${host}/v1`)
      }
    })
  })

interface Sent {
  type: string
}
