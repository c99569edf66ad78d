/** The time at which an event happened, by the server's clock. */

/** A difference below this cannot be told from the request's own way to the server, so it corrects nothing: an imported
 *  event keeps its time to the millisecond. */
export const maxTravelMs = 1_000

/** `receivedAt - (sentAt - timestamp)`, which takes the error of the caller's clock out; all in milliseconds since 1970.
 *  Without `sentAt` the caller's time stands, without `timestamp` the server's. */
export function eventTime(timestamp: number | undefined, sentAt: number | undefined, receivedAt: number): number {
  if (timestamp === undefined) return receivedAt
  const clockError = sentAt === undefined ? 0 : receivedAt - sentAt
  const corrected = Math.abs(clockError) < maxTravelMs ? timestamp : timestamp + clockError
  return isFourDigitYear(corrected) ? corrected : timestamp
}

const firstTime = Date.parse('0000-01-01T00:00:00.000Z')
const lastTime = Date.parse('9999-12-31T23:59:59.999Z')

/** Other years have six digits and a sign in ISO 8601, which few receivers read. */
const isFourDigitYear = (time: number): boolean => time >= firstTime && time <= lastTime
