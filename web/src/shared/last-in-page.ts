/** Where the focus was last outside of dialogs: what is disabled while it works has lost it by the time at which a dialog opens over it. */

let last: HTMLElement | null = null

export function noteFocus(element: HTMLElement): void {
  if (element.closest('[role=dialog]') === null) last = element
}

/** @returns undefined where it cannot take the focus any more, or would open a list of choices */
export const lastInPage = (): HTMLElement | undefined =>
  last?.isConnected === true && !last.matches(':disabled, [aria-haspopup]') ? last : undefined
