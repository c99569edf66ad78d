/** How the SDK tells that Temporal refused the credentials of a new connection: in the text of its error, without a code. */

import { TransportError } from '@temporalio/worker'

/** The first call of a connection, and what it was answered. */
const refusal =
  /GetSystemInfo: code: '(The request does not have valid authentication|The caller does not have permission)/

export const isCredentialsRefused = (error: unknown): boolean =>
  error instanceof TransportError && refusal.test(error.message)
