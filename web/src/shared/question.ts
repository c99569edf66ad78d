import type { ReactNode } from 'react'

/** What is asked before something that cannot be taken back. */
export interface Question {
  title: string
  /** What will happen. */
  text: ReactNode
  /** The button that does it, a verb. */
  yes: string
  dangerous?: boolean
  onYes: () => void
}
