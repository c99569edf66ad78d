import type { QueryObserverResult } from '@tanstack/react-query'
import { useState } from 'react'

/** Why something was not read, also while it is asked for again: what stands for it would come and go otherwise. */
export function useLastError({ data, error }: Pick<QueryObserverResult, 'data' | 'error'>): Error | null {
  const [last, setLast] = useState(error)
  const next = error ?? (data === undefined ? last : null)
  if (next !== last) setLast(next)
  return next
}
