/** The dialogs that are open, from the bottom to the top. */

import { useEffect, useId, useSyncExternalStore } from 'react'

let open: readonly string[] = []
const listeners = new Set<() => void>()

function set(dialogs: readonly string[]): void {
  open = dialogs
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const isDialogOpen = (): boolean => open.length > 0

/** The place of a dialog among those that are open.
 *  @param isOpen  whether it is one of them */
export function useDialogPlace(isOpen: boolean): { place: number; isCovered: boolean } {
  const id = useId()
  useEffect(() => {
    if (!isOpen) return
    set([...open, id])
    return () => set(open.filter((other) => other !== id))
  }, [isOpen, id])
  const dialogs = useSyncExternalStore(subscribe, () => open)
  const place = dialogs.indexOf(id)
  return { place: Math.max(place, 0), isCovered: place >= 0 && place < dialogs.length - 1 }
}
