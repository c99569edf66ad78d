import type { OpenAPI3 } from 'openapi-typescript'
import { expect, it } from 'vitest'
import { apiTypes } from '../support/api-types.ts'
import { startTestApp } from '../support/app.ts'

it('the client library has the types of this version: npm run api:types makes them anew', async () => {
  await using node = await startTestApp()
  const description = (await (await fetch(`${node.url}/openapi.json`)).json()) as OpenAPI3
  await expect(await apiTypes(description)).toMatchFileSnapshot('../../api/src/description.ts')
})
