import type { NameRule } from './unique-name.ts'

/** Looks at what a change would overwrite, which nobody else changes until the change is made; throws where it is not to be. */
export type ChangeCheck = (present: object) => void

/** What a change is held to. */
export interface ChangeRule extends NameRule {
  check?: ChangeCheck
}
