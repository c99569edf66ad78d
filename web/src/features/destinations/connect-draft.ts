/** What was typed into the wizard, kept for a reload of the page: in this tab alone, until the destination is on. */

import { connectDraftKey } from '../../shared/unsaved.ts'
import type { DestinationValues } from './destination-form.ts'

/** A save to which the answer was lost: by these the destination is recognized. */
export interface UnansweredSave {
  name: string
  urls: string[]
}

export interface ConnectDraft {
  step: number
  values: DestinationValues
  /** Gets audiences alone, and so has no source. */
  isForAudiences: boolean
  /** The destination that was saved already: a reload goes on with it. */
  destinationId: string | null
  /** Saves of which it is not known whether they made a destination. */
  unanswered: UnansweredSave[]
  /** Its tag when this wizard saved it, where that is known: what others change from then on is not overwritten without a question. */
  etag: string | null
  hasSecret: boolean
  /** A secret was typed in that was not saved, and is not kept. */
  lacksSecret: boolean
}

/** The secret that was typed and not saved: it is nowhere but in this page and in the receiver. */
let typedSecret = ''

export function readDraft(): ConnectDraft | undefined {
  try {
    const stored = sessionStorage.getItem(connectDraftKey)
    if (stored === null) return undefined
    const draft = JSON.parse(stored) as ConnectDraft
    if (typedSecret === '') return draft
    return { ...draft, lacksSecret: false, values: { ...draft.values, sharedSecret: typedSecret } }
  } catch {
    return undefined
  }
}

/** The secret is kept until the page is reloaded, while other pages of the app are looked at. */
export function keepDraft(draft: ConnectDraft): void {
  typedSecret = draft.values.sharedSecret
  const lacksSecret = draft.lacksSecret || (typedSecret !== '' && !draft.hasSecret)
  const kept = { ...draft, lacksSecret, values: { ...draft.values, sharedSecret: '' } }
  sessionStorage.setItem(connectDraftKey, JSON.stringify(kept))
}

export function dropDraft(): void {
  typedSecret = ''
  sessionStorage.removeItem(connectDraftKey)
}
