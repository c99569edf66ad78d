import { useEffect } from 'react'
import { noteFocus } from '../shared/last-in-page.ts'

const focusable = 'a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled)'

/** A button is disabled while it works, and a form while it is saved, which takes the focus from them: who uses the keyboard finds it there
 *  again afterwards. Where a button goes, as its action cannot be taken any more, it is at the first thing around it; a pointer needs no
 *  focus, which would open a list of choices. */
export function useKeptFocus(): void {
  useEffect(() => {
    let last: HTMLElement | null = null
    /** What is around it, from the inside out. */
    let around: HTMLElement[] = []
    let isByKey = false
    const noteKey = (): void => {
      isByKey = true
    }
    const remember = ({ target }: Event): void => {
      last = target instanceof HTMLElement ? target : null
      around = ancestorsOf(last)
      if (last !== null) noteFocus(last)
    }
    /** Who clicks beside it wants it there no longer. */
    const forget = ({ target }: Event): void => {
      isByKey = false
      if (target instanceof Node && last?.contains(target) !== true) last = null
    }
    const changed = new MutationObserver((changes) => {
      if (last === null || document.activeElement !== document.body) return
      const place = last
      if (!place.isConnected) return isByKey ? focusIn(around.find(({ isConnected }) => isConnected)) : undefined
      const isBack = changes.some(({ target }) => target.contains(place))
      if (isBack && !place.matches(':disabled')) place.focus()
    })
    document.addEventListener('focusin', remember)
    document.addEventListener('keydown', noteKey, true)
    document.addEventListener('pointerdown', forget)
    changed.observe(document.body, { subtree: true, childList: true, attributeFilter: ['disabled'] })
    return () => {
      document.removeEventListener('focusin', remember)
      document.removeEventListener('keydown', noteKey, true)
      document.removeEventListener('pointerdown', forget)
      changed.disconnect()
    }
  }, [])
}

function ancestorsOf(element: HTMLElement | null): HTMLElement[] {
  const ancestors: HTMLElement[] = []
  for (let up = element?.parentElement; up; up = up.parentElement) ancestors.push(up)
  return ancestors
}

/** Dialogs give the focus back themselves. */
function focusIn(place: HTMLElement | undefined): void {
  const page = document.querySelector('main')
  if (place === undefined || page?.contains(place) !== true) return
  const next = place === page ? page : (place.querySelector<HTMLElement>(focusable) ?? page)
  next.focus({ preventScroll: true })
}
