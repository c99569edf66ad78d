/** Members as one JSON array, read as it arrives. */

import { pipeline, type Readable } from 'node:stream'
import streamArray from 'stream-json/streamers/stream-array.js'
import type { AudienceKind } from '../schemas/audience.ts'
import { readMember, type Reading } from './member-row.ts'
import { MembershipError } from './membership-error.ts'

/** Elements in one group. */
const groupSize = 500

/** The elements' members, in groups; their line is their number, from 1.
 *  @throws MembershipError when it is no JSON array */
export async function* readJsonArray(bytes: Readable, kind: AudienceKind): AsyncGenerator<Reading[]> {
  let group: Reading[] = []
  let sourceError: Error | undefined
  bytes.once('error', (error: Error) => (sourceError = error))
  const elements: AsyncIterable<{ key: number; value: unknown }> = pipeline(
    bytes,
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
    if (sourceError !== undefined) throw sourceError
    throw new MembershipError('it is not a JSON array', { cause: error })
  }
  yield group
}
