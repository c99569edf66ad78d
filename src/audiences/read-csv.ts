/** Members as CSV with a header: `userId`, for computed traits `value`; further columns are traits. */

import { pipeline, type Readable } from 'node:stream'
import { parse, type Info } from 'csv-parse'
import type { AudienceKind } from '../schemas/audience.ts'
import { maxRowBytes, tooLong, watched, watchLines } from './bound-rows.ts'
import { columnsToMember } from './columns.ts'
import { readMember, type Reading } from './member-row.ts'
import { MembershipError } from './membership-error.ts'

interface Entry {
  record: string[]
  info: Info
}

/** Rows in one group. */
const groupSize = 500

/** The rows' members, in groups.
 *  @throws MembershipError when the header lacks a column, or a row is too long: where it ends is not known */
export async function* readCsv(bytes: Readable, kind: AudienceKind): AsyncGenerator<Reading[]> {
  let group: Reading[] = []
  const parser = parse({
    bom: true,
    info: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    relax_column_count: true,
    max_record_size: maxRowBytes,
    on_skip: (error) => {
      // The parser would go on gathering it, and report each further byte.
      if (error?.code === 'CSV_MAX_RECORD_SIZE') throw tooLong(parser.info.lines)
      group.push({ line: Number(error?.['lines'] ?? 0), fault: 'it is not CSV' })
      return undefined
    },
  })
  const entries: AsyncIterable<Entry> = pipeline(bytes, watched(watchLines(() => parser.info.lines)), parser, () => {})
  let toMember: ((cells: readonly unknown[]) => Record<string, unknown>) | undefined
  let width = 0
  for await (const { record, info } of entries) {
    if (toMember === undefined) {
      toMember = columnsToMember(record, kind)
      width = record.length
      continue
    }
    group.push(
      record.length === width
        ? readCells(record, info.lines)
        : { line: info.lines, fault: `it has ${record.length} columns instead of ${width}` },
    )
    if (group.length < groupSize) continue
    yield group
    group = []
  }
  if (toMember === undefined) throw new MembershipError('the CSV has no header')
  yield group

  function readCells(record: string[], line: number): Reading {
    if (record.some((cell) => cell.includes('\ufffd'))) return { line, fault: 'it is not valid UTF-8' }
    return readMember(toMember?.(record.map((cell) => fromCell(cell))), kind, line)
  }
}

/** Numbers and booleans that are written just as JSON writes them are taken as such (`42`, not `042`); an empty cell
 *  is absent. */
function fromCell(cell: string): unknown {
  if (cell === '') return undefined
  if (cell === 'true' || cell === 'false') return cell === 'true'
  return /^-?\d/.test(cell) && String(Number(cell)) === cell ? Number(cell) : cell
}
