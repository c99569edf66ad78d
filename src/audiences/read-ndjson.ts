/** Members as NDJSON: a JSON value per line. */

import { isUtf8 } from 'node:buffer'
import type { AudienceKind } from '../schemas/audience.ts'
import { maxRowBytes } from './bound-rows.ts'
import { readMember, type Reading } from './member-row.ts'
import { MembershipError } from './membership-error.ts'

/** Bytes after which a line is taken for one without end. */
const endlessBytes = 16 * 1024 * 1024

const newline = 10
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])

/** The lines' members, a group per chunk that arrives. Empty lines are skipped, a long one is a bad row.
 *  @throws MembershipError when a line does not end */
export async function* readNdjson(bytes: AsyncIterable<Buffer>, kind: AudienceKind): AsyncGenerator<Reading[]> {
  let line = 0
  for await (const lines of splitLines(bytes)) {
    const readings: Reading[] = []
    for (const text of lines) {
      line++
      const reading = text === 'too long' ? { line, fault: `it is longer than ${maxRowBytes} bytes` } : read(text)
      if (reading !== undefined) readings.push(reading)
    }
    yield readings
  }

  function read(raw: Buffer): Reading | undefined {
    const content = line === 1 && raw.subarray(0, 3).equals(byteOrderMark) ? raw.subarray(3) : raw
    if (!isUtf8(content)) return { line, fault: 'it is not valid UTF-8' }
    const text = content.toString('utf8').trim()
    if (text === '') return undefined
    try {
      return readMember(JSON.parse(text), kind, line)
    } catch {
      return { line, fault: 'it is not JSON' }
    }
  }
}

async function* splitLines(bytes: AsyncIterable<Buffer>): AsyncGenerator<(Buffer | 'too long')[]> {
  let rest: Buffer[] = []
  let restBytes = 0
  const take = (end: Buffer): Buffer | 'too long' => {
    const whole = restBytes + end.length > maxRowBytes ? 'too long' : Buffer.concat([...rest, end])
    rest = []
    restBytes = 0
    return whole
  }
  for await (const chunk of bytes) {
    const lines: (Buffer | 'too long')[] = []
    let start = 0
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      lines.push(take(chunk.subarray(start, end)))
      start = end + 1
    }
    restBytes += chunk.length - start
    if (restBytes > endlessBytes) throw new MembershipError(`a line is longer than ${endlessBytes} bytes`)
    if (restBytes <= maxRowBytes) rest.push(chunk.subarray(start))
    else rest = []
    yield lines
  }
  if (restBytes > 0) yield [take(Buffer.alloc(0))]
}
