/** Text as a keyword attribute of Temporal takes it. */

import { createHash } from 'node:crypto'

/** Longest value that a keyword column of Temporal's SQL visibility takes. */
const maxValueLength = 255

/** A value as it is stored and asked for. Temporal's SQL visibility finds no value with a quote or backslash, however it
 *  is escaped in the query, and databases refuse NUL and lone surrogates: such characters are percent-encoded or
 *  replaced. A value longer than Temporal takes becomes its hash. */
export function keyword(value: string): string {
  const text = value.toWellFormed().replace(unsafe, (character) => encoded(character))
  return text.length <= maxValueLength ? text : `sha256:${createHash('sha256').update(text).digest('hex')}`
}

/** What `keyword` made a value of, turned back; a hash stays one. */
export const fromKeyword = (text: string): string =>
  text.replace(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))

// eslint-disable-next-line no-control-regex -- control characters are what it looks for
const unsafe = /[\x00-\x1f\x7f%'"\\]/g

const encoded = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
