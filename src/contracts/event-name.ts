/** The name of an event, as lists show it and filters ask for it. */

/** Longest name that lists show, in characters. */
const maxShown = 255

/** The name of a track call's event, or of a page, screen or any other call that has one; null without one. */
export const eventName = ({ event, name }: Record<string, unknown>): string | null =>
  [event, name].find((value) => typeof value === 'string') ?? null

/** A name as lists show it: of one over 255 characters the beginning, with an ellipsis. */
export const shownName = (name: string): string =>
  name.length <= maxShown ? name : `${name.slice(0, maxShown - 1).toWellFormed()}…`
