/** Members as one JSON array, read as it arrives. */

import { pipeline, type Readable } from 'node:stream'
import streamArray from 'stream-json/streamers/stream-array.js'
import type { AudienceKind } from '../schemas/audience.ts'
import { watched, watchElements } from './bound-rows.ts'
import { readMember, type Reading } from './member-row.ts'
import { MembershipError } from './membership-error.ts'

/** Elements in one group. */
const groupSize = 500

/** The elements' members, in groups; their line is their number, from 1.
 *  @throws MembershipError when it is no JSON array, or an element of it is too long */
export async function* readJsonArray(bytes: Readable, kind: AudienceKind): AsyncGenerator<Reading[]> {
  let group: Reading[] = []
  let cause: Error | undefined
  const note = (error: Error): void => void (cause ??= error)
  bytes.once('error', note)
  const elements: AsyncIterable<{ key: number; value: unknown }> = pipeline(
    bytes,
    watched(watchElements(), note),
    streamArray.withParserAsStream(),
    () => {},
  )
  try {
    for await (const { key, value } of elements) {
      group.push(readMember(value, kind, key + 1))
      if (group.length < groupSize) continue
      yield group
      group = []
    }
  } catch (error) {
    if (cause !== undefined) throw cause
    throw new MembershipError('it is not a JSON array', { cause: error })
  }
  yield group
}
