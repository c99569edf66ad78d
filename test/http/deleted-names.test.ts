import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Page } from '../../src/db/page.ts'
import type { Audience } from '../../src/schemas/audience.ts'
import { maxDeletedIds, type DeletedName } from '../../src/schemas/deleted-name.ts'
import { startTestApp, type TestApp } from '../support/app.ts'

let node: TestApp
beforeAll(async () => {
  node = await startTestApp()
})
afterAll(() => node[Symbol.asyncDispose]())

const names = async (ids: readonly string[]) =>
  (await node.api<Page<DeletedName>>('GET', `/deleted-names?ids=${ids.join(',')}`)).body.items

it('are kept of sources, destinations and audiences, as they were called last', async () => {
  const source = await node.createSource('First shop')
  const destination = await node.connect([source], ['http://127.0.0.1:9/'], { name: 'CRM' })
  const { body: audience } = await node.api<Audience>('POST', '/audiences', { name: 'Big spenders' })
  await node.api('PATCH', `/sources/${source.id}`, { name: 'Shop' })
  const ids = [source.id, destination.id, audience.id]
  expect(await names(ids)).toEqual([])

  const kinds = ['sources', 'destinations', 'audiences']
  for (const [n, kind] of kinds.entries())
    expect((await node.api('DELETE', `/${kind}/${ids[n]}`)).status).toBeLessThan(300)
  const kept = await names([...ids, 'src_never'])
  expect(new Map(kept.map(({ id, name }) => [id, name]))).toEqual(
    new Map([
      [source.id, 'Shop'],
      [destination.id, 'CRM'],
      [audience.id, 'Big spenders'],
    ]),
  )
  for (const { deletedAt } of kept) expect(Date.parse(deletedAt)).toBeGreaterThan(Date.now() - 600_000)
})

it('are asked for by ids, so many at once', async () => {
  expect(await node.api('GET', '/deleted-names')).toMatchObject({ status: 400, body: { path: 'ids' } })
  const tooMany = Array.from({ length: maxDeletedIds + 1 }, (_, n) => `src_${n}`)
  expect(await node.api('GET', `/deleted-names?ids=${tooMany.join(',')}`)).toMatchObject({
    status: 400,
    body: { path: 'ids' },
  })
  expect(await names(tooMany.slice(1))).toEqual([])
})
