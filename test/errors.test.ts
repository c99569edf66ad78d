import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { errorCatalog } from '../src/errors.ts'
import { eventFaultCodes } from '../src/schemas/source-event.ts'

it('lists exactly the errors of the catalog in docs/errors.md', () => {
  const page = readFileSync(resolve(import.meta.dirname, '../docs/errors.md'), 'utf8')
  const rows = page.split('\n').filter((line) => line.startsWith('| `'))
  const cells = rows.map((row) =>
    row
      .slice(1, -1)
      .split(' | ')
      .map((cell) => cell.trim()),
  )
  const documented = cells.map(([code = '', status, meaning]) => [code.slice(1, -1), Number(status), meaning])
  expect(documented).toEqual(Object.entries(errorCatalog).map(([code, { status, meaning }]) => [code, status, meaning]))
})

it('answers every fault of an event with 400', () => {
  expect(eventFaultCodes.map((code) => errorCatalog[code].status)).toEqual(eventFaultCodes.map(() => 400))
})
