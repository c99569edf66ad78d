/** Whether anything has edits that are not saved: forms that are open, and the draft of a destination that is being connected. */

import { useEffect } from 'react'

let forms = 0

export const isAnythingUnsaved = (): boolean => forms > 0

/** Where that draft is kept, in this tab alone. */
export const connectDraftKey = 'postrider-connect-draft-7'

export const isConnectDraftKept = (): boolean => sessionStorage.getItem(connectDraftKey) !== null

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
