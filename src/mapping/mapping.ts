/** The mapping of a destination, made ready once and applied to each event. */

import { hash } from 'node:crypto'
import type { Mapping } from '../schemas/mapping.ts'
import type { MessageBody } from '../schemas/message.ts'
import { dropPaths, keepPaths, movePaths, PathError, putAll, replaceAt, type Change } from './change-paths.ts'

/** What endpoints receive, or why nothing can be sent. */
export type Mapped = { kind: 'mapped'; body: string } | MappingFailure

export interface MappingFailure {
  kind: 'failed'
  /** In words for people, without values of the event. */
  reason: string
}

/** The same event always comes to the same: an attempt that is repeated sends the same bytes. */
export type EventMapping = (event: MessageBody) => Mapped | Promise<Mapped>

/** Evaluates an expression about an event, which is given as JSON. */
export type Evaluate = (expression: string, event: string) => Promise<Mapped>

export const mappingFailure = (why: string): MappingFailure => ({
  kind: 'failed',
  reason: `The mapping could not be applied: ${why}.`,
})

interface Step {
  name: keyof Mapping
  change: Change
}

/** Makes a mapping ready. Where this version does not know all of it nothing is sent, since what it was to keep back is not known. */
export function compileMapping(mapping: Mapping, evaluate: Evaluate): EventMapping {
  const { keep, drop, hash: hashed, rename, set, expression, ...unknown } = mapping
  const [member] = Object.keys(unknown)
  if (member !== undefined) return () => mappingFailure(`this version does not know its member ${member}`)
  const steps: (Step | false)[] = [
    keep !== undefined && { name: 'keep', change: keepPaths(keep) },
    drop !== undefined && { name: 'drop', change: dropPaths(drop) },
    hashed !== undefined && { name: 'hash', change: replaceAt(hashed, digestOf) },
    rename !== undefined && { name: 'rename', change: movePaths(rename) },
    set !== undefined && { name: 'set', change: putAll(set) },
  ]
  const all = steps.filter((step) => step !== false)
  // The receiver is to find a user who is to be deleted by the id that it has, and nothing else may become of that.
  const ofDeletions = all.filter(({ name }) => name === 'hash')
  return (event) => {
    if (event.type === 'delete') return applyAll(ofDeletions, event)
    const mapped = applyAll(all, event)
    return expression === undefined || mapped.kind === 'failed' ? mapped : evaluate(expression, mapped.body)
  }
}

function applyAll(steps: readonly Step[], event: MessageBody): Mapped {
  let changed: object = event
  for (const { name, change } of steps) {
    try {
      changed = change(changed)
    } catch (error) {
      if (error instanceof PathError) return mappingFailure(`${name} of ${error.path}: ${error.message}`)
      throw error
    }
  }
  return { kind: 'mapped', body: JSON.stringify(changed) }
}

const emailAddress = /^[^\s@]+@[^\s@]+$/

/** The SHA-256 of a text or a number. Addresses are made alike first, as those who compare such digests expect it. */
function digestOf(value: unknown, path: string): unknown {
  if (value === null) return null
  if (typeof value === 'number') return hash('sha256', String(value))
  if (typeof value !== 'string') throw new PathError(path, 'the value is neither a text nor a number')
  const trimmed = value.trim()
  return hash('sha256', emailAddress.test(trimmed) ? trimmed.toLowerCase() : value)
}
