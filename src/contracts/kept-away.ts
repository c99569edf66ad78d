/** Why an attempt at an endpoint that is down was not made, in words that are recognised later. */

export const keptAwayReason = (since: Date, probeAt: Date): string =>
  `the endpoint is down since ${since.toISOString()}, next probe at ${probeAt.toISOString()}`

/** Finds those words in a reason. */
export const keptAwayPattern = /(the endpoint is down since \S+Z), next probe at (\S+Z)/

/** What is left of a reason with those words when nothing is tried any more: no probe comes. */
export const withoutProbe = (reason: string): string => reason.replace(keptAwayPattern, '$1')

/** What is left of them once the probe that they name is over: when the next one goes, they do not know. */
export const withoutPastProbe = (reason: string): string =>
  reason.replace(keptAwayPattern, (told, down: string, probeAt: string) =>
    Date.parse(probeAt) < Date.now() ? down : told,
  )
