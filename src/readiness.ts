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
  const find = (name: MissingPart['part']) => missing.find(({ part }) => part === name)
  const database = find('database')
  if (!isLoaded())
    return {
      missing,
      reason: `the settings are not read yet, the database is away: ${database?.reason ?? 'it is being opened'}`,
    }
  return { missing, reason: database && find('temporal') ? 'neither Temporal nor the database answers' : undefined }
}

/** Whether a node that only delivers can: it takes its work from Temporal, and goes on with the settings in memory while the database
 *  is away.
 *  @param look  tells which parts do not answer */
export async function workerReadiness(look: () => Promise<MissingPart[]>, isLoaded: () => boolean): Promise<Readiness> {
  const { missing, reason } = await readiness(look, isLoaded)
  const temporal = missing.find(({ part }) => part === 'temporal')
  return { missing, reason: reason ?? (temporal && `Temporal does not answer: ${temporal.reason}`) }
}
