/** What was typed into the wizard, kept for a reload of the page: in this tab alone, until the destination is on. */

import type { DestinationValues } from './destination-form.ts'

export interface ConnectDraft {
  step: number
  values: DestinationValues
  /** Gets audiences alone, and so has no source. */
  isForAudiences: boolean
  /** The destination that was saved already: a reload goes on with it. */
  destinationId: string | null
  hasSecret: boolean
}

const storageKey = 'postrider-connect-draft'

export function readDraft(): ConnectDraft | undefined {
  try {
    const stored = sessionStorage.getItem(storageKey)
    return stored === null ? undefined : (JSON.parse(stored) as ConnectDraft)
  } catch {
    return undefined
  }
}

/** The secret is left out: it is nowhere but in this form and in the receiver. */
export const keepDraft = (draft: ConnectDraft): void =>
  sessionStorage.setItem(storageKey, JSON.stringify({ ...draft, values: { ...draft.values, sharedSecret: '' } }))

export const dropDraft = (): void => sessionStorage.removeItem(storageKey)
