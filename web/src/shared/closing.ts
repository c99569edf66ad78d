import { createContext } from 'react'

/** Asks whether a dialog may be closed. @param proceed  closes it */
export type Ask = (proceed: () => void) => void

/** How what stands in a dialog closes it, and has something asked first. */
interface Closing {
  close: () => void
  /** @param ask  what is asked from now on; null: nothing */
  setAsk: (ask: Ask | null) => void
}

/** Of the dialog around something; null outside of any. */
export const ClosingContext = createContext<Closing | null>(null)
