/** Whether anything that is open has edits that are not saved. */

import { useEffect } from 'react'

let forms = 0

export const isAnythingUnsaved = (): boolean => forms > 0

/** Counts a form for as long as it has such edits. */
export function useUnsaved(isDirty: boolean): void {
  useEffect(() => {
    if (!isDirty) return
    forms += 1
    return () => {
      forms -= 1
    }
  }, [isDirty])
}
