/** Pages as a visitor sees them, also those that an app shows without loading anything. */

import type { PageProperties } from './calls.ts'

/**
 * Calls `seen` for the page that is shown, and for each one whose address takes its place. A change of the fragment alone,
 * after `#`, is none.
 */
export function watchPages(seen: (page: PageProperties) => void, signal: AbortSignal): void {
  // Workers have no pages.
  if (!globalThis.document) return
  let shown = ''
  const look = () => {
    const { origin, pathname, search } = location
    const url = origin + pathname + search
    if (signal.aborted || url === shown) return
    const referrer = shown || document.referrer
    shown = url
    try {
      seen({ url, path: pathname, title: document.title, referrer })
    } catch (error) {
      // Nobody made this call: an address that is too long must not be a fault of the page.
      console.error(error)
    }
  }
  // An app sets the title once it has changed the address.
  const lookSoon = () => void setTimeout(look)
  for (const name of ['pushState', 'replaceState'] as const) {
    const change = history[name].bind(history)
    history[name] = (...state) => {
      change(...state)
      lookSoon()
    }
  }
  addEventListener('popstate', lookSoon, { signal })
  // In the head of a page its title may still be to come.
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', look, { signal })
  else look()
}
