import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { codes } from '../src/commands/shared/failure.ts'
import { errorCatalog } from '../src/errors.ts'
import { eventFaultCodes } from '../src/schemas/source-event.ts'
import { turnedAwayFates } from '../src/schemas/turned-away.ts'

const rowsOf = (text: string): string[] => text.split('\n').filter((line) => line.startsWith('| `'))

it('lists exactly the codes of the command in docs/errors.md', () => {
  const page = readFileSync(resolve(import.meta.dirname, '../docs/errors.md'), 'utf8')
  const documented = rowsOf(page.split('## Codes of the command')[1] ?? '').map((row) => row.split('`')[1])
  const own = Object.values(codes).filter((code) => code !== 'ok')
  expect(documented.sort()).toEqual([...own, ...turnedAwayFates].sort())
})

it('lists exactly the errors of the catalog in docs/errors.md', () => {
  const page = readFileSync(resolve(import.meta.dirname, '../docs/errors.md'), 'utf8')
  const rows = rowsOf(page.split('## Codes of the command')[0] ?? '')
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
