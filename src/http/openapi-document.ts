/** What the description of the API has beyond what its routes say: names of operations, words for every answer, uploads. */

import { descriptions } from './openapi-descriptions.ts'
import { operations } from './openapi-operations.ts'

interface Operation {
  operationId?: string
  summary?: string
  description?: string | undefined
  requestBody?: {
    required?: boolean
    content: Record<string, { schema: { type?: string; anyOf?: { type?: string }[] } }>
  }
  responses: Record<string, { description: string }>
}

/** As much of it as is changed here. */
interface ApiDocument {
  paths?: Record<string, Record<string, Operation>>
  components?: { schemas?: Record<string, unknown> }
}

/** Words for answers whose schema has none. */
const answers: Record<string, string> = {
  200: 'Done, or what was asked for',
  201: 'Made, as it is now',
  202: 'Taken: it goes on by itself',
  503: 'Not now: why stands in the message',
  '4XX': 'Refused: code, message and the member at fault',
  '5XX': 'Failed, or a part is away: code and message',
}

/** What `@fastify/swagger` writes where a schema has no description. */
const noWords = 'Default Response'

const rows = { type: 'string', description: 'One member on each line, or one row of CSV, with `userId`' }
const uploadOf = (required: boolean) => ({
  required,
  content: { 'application/x-ndjson': { schema: rows }, 'text/csv': { schema: rows } },
})

/** Bodies that are read as a stream, which no schema describes. */
const uploads: Record<string, Operation['requestBody']> = {
  'put /api/v1/audiences/{id}/members': uploadOf(true),
  'post /api/v1/audiences/{id}/preview': uploadOf(false),
}

/** Completes a description. */
export function completeDocument<Description extends object>(description: Description): Description {
  const document = description as ApiDocument
  for (const [path, methods] of Object.entries(document.paths ?? {}))
    for (const [method, operation] of Object.entries(methods)) completeOperation(`${method} ${path}`, operation)
  dropUnused(document)
  return nameInputs(document) as Description
}

function completeOperation(name: string, operation: Operation): void {
  const { id, summary } = operations[name] ?? {}
  if (id !== undefined) {
    operation.operationId = id
    operation.description ??= descriptions[id]
  }
  operation.summary ??= summary ?? name
  const upload = uploads[name]
  if (upload !== undefined) operation.requestBody = upload
  // For the node, no body is null.
  const body = operation.requestBody?.content['application/json']?.schema
  if (operation.requestBody && body?.anyOf?.some(({ type }) => type === 'null')) operation.requestBody.required = false
  for (const [status, response] of Object.entries(operation.responses))
    if (response.description === noWords) response.description = answers[status] ?? 'The answer'
}

/** Each named schema is there as what is sent and as what is answered, though most are one of the two. */
function dropUnused(document: ApiDocument): void {
  const { schemas = {} } = document.components ?? {}
  for (;;) {
    const text = JSON.stringify(document)
    const unused = Object.keys(schemas).filter((name) => !text.includes(`"#/components/schemas/${name}"`))
    if (unused.length === 0) return
    for (const name of unused) delete schemas[name]
  }
}

/** What is only sent needs no other name than what is answered. */
function nameInputs(document: ApiDocument): object {
  const { schemas = {} } = document.components ?? {}
  let text = JSON.stringify(document)
  for (const name of Object.keys(schemas)) {
    const short = name.replace(/Input$/, '')
    if (short === name || short in schemas) continue
    text = text.replaceAll(`"#/components/schemas/${name}"`, `"#/components/schemas/${short}"`)
    text = text.replace(`"${name}":`, `"${short}":`)
  }
  return JSON.parse(text) as object
}
