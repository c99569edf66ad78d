import { useEffect } from 'react'

/** A button is disabled while it works, which takes the focus from it: who uses the keyboard finds it there again afterwards. */
export function useKeptFocus(): void {
  useEffect(() => {
    let last: EventTarget | null = null
    const remember = ({ target }: FocusEvent): void => {
      last = target
    }
    const enabled = new MutationObserver((changes) => {
      const isBack = changes.some(({ target }) => target === last)
      if (isBack && last instanceof HTMLButtonElement && !last.disabled && document.activeElement === document.body)
        last.focus()
    })
    document.addEventListener('focusin', remember)
    enabled.observe(document.body, { subtree: true, attributeFilter: ['disabled'] })
    return () => {
      document.removeEventListener('focusin', remember)
      enabled.disconnect()
    }
  }, [])
}
