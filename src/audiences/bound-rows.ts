/** Bounds on rows whose end is known only when it is read: what has no end must not fill the memory. */

import { MembershipError } from './membership-error.ts'

/** Longest row, in bytes. */
export const maxRowBytes = 64 * 1024

/** Called with each chunk before it is passed on. @throws MembershipError when a row is too long */
type Watch = (chunk: Buffer) => void

/** Passes bytes on as they arrive, watched.
 *  @param onTooLong  called with the error: streams behind may put another one in its place */
export const watched = (watch: Watch, onTooLong: (error: Error) => void = () => {}) =>
  async function* (bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of bytes) {
      try {
        watch(chunk)
      } catch (error) {
        onTooLong(error as Error)
        throw error
      }
      yield chunk
    }
  }

export const tooLong = (row: number): MembershipError =>
  new MembershipError(`row ${row} is longer than ${maxRowBytes} bytes`)

const newline = 10
const carriageReturn = 13

/** Watches for a line without end. Lines inside of quotes are the parser's to bound.
 *  @param row  asked for the row that is read */
export function watchLines(row: () => number): Watch {
  let bytes = 0
  return (chunk) => {
    const end = Math.max(chunk.lastIndexOf(newline), chunk.lastIndexOf(carriageReturn))
    bytes = end === -1 ? bytes + chunk.length : chunk.length - end - 1
    if (bytes > maxRowBytes) throw tooLong(row())
  }
}

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const opening = new Set([0x5b, 0x7b])
const closing = new Set([0x5d, 0x7d])

/** Watches for an element without end in a JSON array; whether it is one at all is the parser's to find out. */
export function watchElements(): Watch {
  let row = 1
  let bytes = 0
  let depth = 0
  let inText = false
  let isEscaped = false
  return (chunk) => {
    for (const byte of chunk) {
      bytes++
      if (isEscaped) isEscaped = false
      else if (inText) {
        if (byte === quote) inText = false
        else isEscaped = byte === backslash
      } else if (byte === quote) inText = true
      else if (opening.has(byte)) depth++
      else if (closing.has(byte)) depth--
      else if (byte === comma && depth === 1) {
        row++
        bytes = 0
      }
      if (bytes > maxRowBytes) throw tooLong(row)
    }
  }
}
