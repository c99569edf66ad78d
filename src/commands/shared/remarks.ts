/** Remarks about what a long work is doing. */

import { clearScreenDown, moveCursor } from 'node:readline'
import type { WriteStream } from 'node:tty'

/** At a terminal, a remark that differs from the one before in its figures alone takes the place of that one.
 *  @param print  writes a line to `terminal` */
export function createRemarks(print: (text: string) => void, terminal: WriteStream): (text: string) => void {
  let last = ''
  return (text) => {
    if (terminal.isTTY && withoutFigures(text) === withoutFigures(last)) {
      moveCursor(terminal, 0, -rowsOf(last, terminal))
      clearScreenDown(terminal)
    }
    print(text)
    last = text
  }
}

const withoutFigures = (text: string): string => text.replaceAll(/\d+/g, '')

/** A terminal that does not tell its width has 80 columns, as most do. */
const rowsOf = (text: string, { columns }: WriteStream): number => Math.ceil(text.length / (columns || 80))
