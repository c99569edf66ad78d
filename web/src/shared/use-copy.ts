import { useEffect, useState } from 'react'

/** How long a button tells that it copied, in milliseconds. */
const toldMs = 2_000

type Outcome = 'copied' | 'failed'

/** Copies a text, and tells for a moment whether that worked. */
export function useCopy(text: string): { outcome: Outcome | undefined; copy: () => void } {
  const [outcome, setOutcome] = useState<Outcome>()
  useEffect(() => {
    if (outcome === undefined) return
    const timer = setTimeout(() => setOutcome(undefined), toldMs)
    return () => clearTimeout(timer)
  }, [outcome])
  return {
    outcome,
    copy: () => void copyText(text).then((isCopied) => setOutcome(isCopied ? 'copied' : 'failed')),
  }
}

/** A browser has no clipboard for pages that came by plain HTTP, but copies what is selected there. */
const copyText = async (text: string): Promise<boolean> =>
  window.isSecureContext
    ? navigator.clipboard.writeText(text).then(
        () => true,
        () => copySelected(text),
      )
    : copySelected(text)

function copySelected(text: string): boolean {
  const { activeElement } = document
  const field = document.createElement('textarea')
  field.value = text
  field.style.cssText = 'position: fixed; opacity: 0'
  // Within the dialog that the button stands in, which keeps the focus to itself.
  const place = activeElement?.closest('[role=dialog]') ?? document.body
  place.append(field)
  field.select()
  const isCopied = document.execCommand('copy')
  field.remove()
  if (activeElement instanceof HTMLElement) activeElement.focus({ preventScroll: true })
  return isCopied
}
