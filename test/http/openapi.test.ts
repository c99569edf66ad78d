/** The description of the API, as generators of clients and readers want it. */

import { createConfig, lintFromString } from '@redocly/openapi-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { descriptions } from '../../src/http/openapi-descriptions.ts'
import { operations } from '../../src/http/openapi-operations.ts'
import { startTestApp, type TestApp } from '../support/app.ts'

interface Operation {
  operationId?: string
  summary?: string
  description?: string
  tags?: string[]
  requestBody?: { required?: boolean; content: Record<string, { schema: unknown }> }
  responses: Record<string, { description: string; content?: Record<string, { schema: { $ref?: string } }> }>
}

interface Description {
  tags: { name: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, object> }
}

let node: TestApp
let source: string
let description: Description
let described: Map<string, Operation>

beforeAll(async () => {
  node = await startTestApp()
  source = await (await fetch(`${node.url}/openapi.json`)).text()
  description = JSON.parse(source) as Description
  described = new Map(
    Object.entries(description.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => [`${method} ${path}`, operation]),
    ),
  )
})
afterAll(() => node[Symbol.asyncDispose]())

it('has nothing that a linter objects to', async () => {
  // An id in a path may be any text; the fixed words beside it are matched first.
  const rules = { 'no-ambiguous-paths': 'off' } as const
  const problems = await lintFromString({ source, config: await createConfig({ extends: ['recommended'], rules }) })
  const told = problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])
  expect(told).toEqual([])
})

it('says of each operation more than its summary, and of none that is not there', () => {
  for (const [name, { summary, description: words = '' }] of described) {
    expect(words, name).toMatch(/^[A-Z`].{20,}\.$/s)
    expect(words, name).not.toBe(summary)
  }
  const ids = [...described.values()].map(({ operationId }) => operationId)
  expect(ids).toEqual(expect.arrayContaining(Object.keys(descriptions)))
})

it('names every operation once, says what it does, and names none that is not there', () => {
  expect([...described.keys()].sort()).toEqual(Object.keys(operations).sort())
  const ids = [...described.values()].map(({ operationId }) => operationId)
  expect(new Set(ids).size).toBe(described.size)
  for (const [name, { operationId, summary }] of described) {
    expect(operationId, name).toMatch(/^[a-z][A-Za-z]+$/)
    expect(summary, name).not.toBe(name)
  }
})

it('has words for every answer, and for every tag', () => {
  const tags = new Set(description.tags.map(({ name }) => name))
  for (const [name, operation] of described) {
    for (const [status, answer] of Object.entries(operation.responses))
      expect(answer.description, `${name} ${status}`).not.toMatch(/^(Default Response)?$/)
    for (const tag of operation.tags ?? []) expect(tags, name).toContain(tag)
  }
})

it('has schemas with names', () => {
  expect(Object.keys(description.components.schemas)).toEqual(
    expect.arrayContaining(['Audience', 'Delivery', 'DeliveryDetail', 'Destination', 'Error', 'NewSource', 'Source']),
  )
  const { responses } = described.get('get /api/v1/sources/{id}') ?? { responses: {} }
  expect(responses['200']?.content?.['application/json']?.schema.$ref).toBe('#/components/schemas/Source')
  expect(responses['4XX']?.content?.['application/json']?.schema.$ref).toBe('#/components/schemas/Error')
})

it('describes uploads', () => {
  for (const name of ['put /api/v1/audiences/{id}/members', 'post /api/v1/audiences/{id}/preview'])
    expect(Object.keys(described.get(name)?.requestBody?.content ?? {})).toEqual(['application/x-ndjson', 'text/csv'])
})

it('says which bodies may be left out', () => {
  for (const name of ['retry', 'redeliver', 'cancel'])
    expect(described.get(`post /api/v1/deliveries/{id}/${name}`)?.requestBody?.required, name).toBe(false)
  expect(described.get('post /api/v1/sources')?.requestBody?.required).toBe(true)
})
