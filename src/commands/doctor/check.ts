/** One thing that was looked at. */
export interface Check {
  name: string
  /** A problem keeps events from being taken or delivered; a warning may lead to one. */
  state: 'ok' | 'warning' | 'problem'
  found: string
  /** How to mend it. */
  mend?: string
}

export const ok = (name: string, found: string): Check => ({ name, state: 'ok', found })
export const warning = (name: string, found: string, mend: string): Check => ({ name, state: 'warning', found, mend })
export const problem = (name: string, found: string, mend: string): Check => ({ name, state: 'problem', found, mend })
