import { useEffect } from 'react'

/** A button is disabled while it works, and a form while it is saved, which takes the focus from them: who uses the keyboard finds it there
 *  again afterwards. */
export function useKeptFocus(): void {
  useEffect(() => {
    let last: EventTarget | null = null
    const remember = ({ target }: FocusEvent): void => {
      last = target
    }
    const enabled = new MutationObserver((changes) => {
      if (!(last instanceof HTMLElement) || document.activeElement !== document.body) return
      const place = last
      const isBack = changes.some(({ target }) => target.contains(place))
      if (isBack && !place.matches(':disabled')) place.focus()
    })
    document.addEventListener('focusin', remember)
    enabled.observe(document.body, { subtree: true, attributeFilter: ['disabled'] })
    return () => {
      document.removeEventListener('focusin', remember)
      enabled.disconnect()
    }
  }, [])
}
