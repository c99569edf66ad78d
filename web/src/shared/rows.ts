/** Rows of a form that come and go, with a button below them that adds one: who uses the keyboard goes on in the row that was added, or at
 *  that button when a row was removed. */

import type { RefObject } from 'react'
import { flushSync } from 'react-dom'

type AddButton = RefObject<HTMLButtonElement | null>

export function addRow(button: AddButton, add: () => void): void {
  flushSync(add)
  button.current?.previousElementSibling?.querySelector<HTMLElement>('input, select')?.focus()
}

export function removeRow(button: AddButton, remove: () => void): void {
  flushSync(remove)
  button.current?.focus()
}
