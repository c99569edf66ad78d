import type { MissingPart } from './schemas/system.ts'

export interface Readiness {
  /** Why the node cannot accept events; undefined when it can. */
  reason: string | undefined
  /** Parts that do not answer. */
  missing: MissingPart[]
}

/** Whether a node can accept events: it can as long as the database or Temporal holds them, once it knows its sources.
 *  @param look  tells which parts do not answer */
export async function readiness(look: () => Promise<MissingPart[]>, isLoaded: () => boolean): Promise<Readiness> {
  const missing = await look()
  const database = missing.find(({ part }) => part === 'database')
  if (!isLoaded())
    return {
      missing,
      reason: `the settings are not read yet, the database is away: ${database?.reason ?? 'it is being opened'}`,
    }
  return { missing, reason: missing.length === 2 ? 'neither Temporal nor the database answers' : undefined }
}
