/** How long what is typed is kept, in milliseconds: a field that is not there by then could not be loaded. */
const limitMs = 10_000

/** Keeps what is typed while the field that it is meant for is loaded.
 *  @returns ends it, and gives what was typed; also ended by Escape, which discards it */
export function keepTyped(): () => string {
  let text = ''
  const note = (event: KeyboardEvent): void => {
    const { key, ctrlKey, metaKey, altKey, isComposing } = event
    if (ctrlKey || metaKey || altKey || isComposing) return
    if (key === 'Escape') return end()
    if (key === 'Backspace') text = text.slice(0, -1)
    else if (key.length === 1) text += key
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  const end = (): void => {
    text = ''
    clearTimeout(timer)
    window.removeEventListener('keydown', note, true)
  }
  const timer = setTimeout(end, limitMs)
  window.addEventListener('keydown', note, true)
  return () => {
    const typed = text
    end()
    return typed
  }
}
