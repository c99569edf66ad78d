import { ok, warning, type Check } from './check.ts'

/** Difference from which receivers may refuse signatures for their age, halved: Standard Webhooks allows 5 minutes. */
const warnFromMs = 150_000

/** Below this, the second that an HTTP date is rounded to and the way of the answer explain it. */
const exactMs = 2_000

/** Holds this machine's clock against another one that was read after `askedAt`. */
export function checkClock(of: string, theirs: Date | undefined, askedAt: number): Check {
  const name = `clock of ${of}`
  if (theirs === undefined || Number.isNaN(theirs.getTime())) return ok(name, 'unknown')
  const offMs = theirs.getTime() - (askedAt + Date.now()) / 2
  if (Math.abs(offMs) < exactMs) return ok(name, 'the same as here')
  const found = `${Math.abs(Math.round(offMs / 1000))} s ${offMs > 0 ? 'ahead of' : 'behind'} this machine's`
  if (Math.abs(offMs) < warnFromMs) return ok(name, found)
  return warning(name, found, 'Set the clocks of both machines by NTP: receivers refuse signatures that seem too old.')
}
