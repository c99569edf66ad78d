import type { Readable } from 'node:stream'
import type { AudienceKind, MemberFormat } from '../schemas/audience.ts'
import type { Reading } from './member-row.ts'
import { readCsv } from './read-csv.ts'
import { readJsonArray } from './read-json-array.ts'
import { readNdjson } from './read-ndjson.ts'

/** Members in one of the formats, in groups, as the bytes arrive.
 *  @throws MembershipError when it is not in the format as a whole; whatever the stream throws */
export function readMembers(bytes: Readable, format: MemberFormat, kind: AudienceKind): AsyncIterable<Reading[]> {
  switch (format) {
    case 'ndjson':
      return readNdjson(bytes, kind)
    case 'csv':
      return readCsv(bytes, kind)
    case 'json':
      return readJsonArray(bytes, kind)
  }
}

/** The format that a Content-Type names; undefined when it names none. */
export function formatOf(contentType: string | undefined): MemberFormat | undefined {
  const [type = ''] = (contentType ?? '').toLowerCase().split(';')
  return formats[type.trim()]
}

const formats: Record<string, MemberFormat> = {
  'application/x-ndjson': 'ndjson',
  'application/ndjson': 'ndjson',
  'application/jsonl': 'ndjson',
  'application/json-lines': 'ndjson',
  'text/csv': 'csv',
  'application/json': 'json',
}
