/** Which source a request speaks for. */

import { AppError } from '../errors.ts'
import { turnCallAway, type CallTally } from './call-tally.ts'
import type { IngestPort, IngestSource } from './port.ts'
import { resolveWriteKey } from './write-key.ts'

/** Finds the source of a request, and notes it in the tally.
 *  @param bodyKey  the `writeKey` of the body
 *  @returns undefined when the request is to be answered with 200 and dropped
 *  @throws AppError `unknown_write_key` or `source_disabled` */
export type Authenticate = (
  request: { authorization: string | undefined; receivedAt: Date },
  bodyKey: string | undefined,
  tally: CallTally,
) => IngestSource | undefined

/** @param lenientAuth  drop the events of unknown write keys and disabled sources instead of refusing them */
export const createAuthentication =
  (port: IngestPort, lenientAuth: boolean): Authenticate =>
  ({ authorization, receivedAt }, bodyKey, tally) => {
    const writeKey = resolveWriteKey(authorization, bodyKey)
    const source = writeKey === undefined ? undefined : port.findSource(writeKey)
    tally.sourceId = source?.id
    if (source?.enabled === true) return source
    const error = authError(writeKey, source)
    if (!lenientAuth) throw error
    turnCallAway(port, tally, 'dropped', error, receivedAt)
    return undefined
  }

function authError(writeKey: string | undefined, source: IngestSource | undefined): AppError {
  if (writeKey === undefined)
    return new AppError(
      'unknown_write_key',
      'There is no write key: send it as Basic user name, or as the string writeKey.',
    )
  if (source === undefined) return new AppError('unknown_write_key', 'No source has this write key.')
  return new AppError('source_disabled', 'The source of this write key is switched off.')
}
