/** Values of events as they are typed. */

import type { Scalar } from '../../../../src/schemas/filter.ts'

/** What looks like a number, `true`, `false`, `null` or a text in quotes is that; all else is a text. */
export function readTyped(text: string): Scalar {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return value as Scalar
  } catch {
    // A text.
  }
  return text
}

/** Turns `readTyped` back. */
export const textOfTyped = (value: Scalar): string =>
  typeof value === 'string' && readTyped(value) === value ? value : JSON.stringify(value)
