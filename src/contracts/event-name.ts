/** The name of an event, and how lists show it and the ids of its user and message. */

/** Longest text that lists show, in characters. */
const maxShown = 255

/** The name of a track call's event, or of a page, screen or any other call that has one; null without one. */
export const eventName = ({ event, name }: Record<string, unknown>): string | null =>
  [event, name].find((value) => typeof value === 'string') ?? null

/** A name or an id as lists show it: of one over 255 characters the beginning, with an ellipsis. */
export const shownText = (text: string): string =>
  text.length <= maxShown ? text : `${text.slice(0, maxShown - 1).toWellFormed()}…`
