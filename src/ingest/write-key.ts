/** Where a write key stands: Basic user name, or `writeKey` in the body. */

import { AppError } from '../errors.ts'

/** The write key of a request; `undefined` when it has none.
 *  @param authorization  the header; other schemes than Basic are not ours and count as absent
 *  @throws AppError `unknown_write_key` when the header and the body name different keys */
export function resolveWriteKey(authorization: string | undefined, bodyKey: string | undefined): string | undefined {
  const headerKey = authorization === undefined ? undefined : basicUser(authorization)
  if (headerKey && bodyKey && headerKey !== bodyKey)
    throw new AppError('unknown_write_key', 'The Authorization header and writeKey name different write keys.', {
      path: 'writeKey',
    })
  return headerKey || bodyKey || undefined
}

/** User name of a Basic header. Some clients leave the colon out that RFC 7617 asks for. */
function basicUser(authorization: string): string | undefined {
  const credentials = /^basic +(\S+)\s*$/i.exec(authorization)?.[1]
  return credentials === undefined ? undefined : Buffer.from(credentials, 'base64').toString().split(':', 1)[0]
}
