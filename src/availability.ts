/** Which of the parts that the node stands on answer: looked at again and again, and logged once when one goes and once when it
 *  is back. */

import type { Database } from './db/database.ts'
import { PartAwayError, partTexts, type PartName } from './errors.ts'
import type { Logger } from './logger.ts'
import type { MissingPart } from './schemas/system.ts'
import { answerWithin } from './temporal/answer-within.ts'
import type { Temporal } from './temporal/connection.ts'
import { within } from './within.ts'

/** How long a look may take before its part counts as away, and between two looks, in milliseconds. */
const lookLimitMs = 1_500
const lookPauseMs = 2_000

export interface Availability {
  /** Looks at all parts, within 2 seconds. @returns those that do not answer */
  look: () => Promise<MissingPart[]>
  /** @returns those that did not answer at the last look */
  missing: () => MissingPart[]
  close(): void
}

/** @param looks  asks each part something; what it throws is why the part is away */
export function watchAvailability(looks: Record<PartName, () => Promise<unknown>>, logger: Logger): Availability {
  const away = new Map<PartName, MissingPart>()
  const told = new Set<PartName>()
  /** A part that hangs gets no second question. */
  const asked = new Map<PartName, Promise<unknown>>()

  const ask = (part: PartName): Promise<unknown> => {
    const answer = asked.get(part) ?? looks[part]().finally(() => asked.delete(part))
    asked.set(part, answer)
    return within(lookLimitMs, partTexts[part], answer)
  }

  const lookAt = async (part: PartName): Promise<void> => {
    try {
      await ask(part)
      const since = away.get(part)?.since
      if (since !== undefined && told.delete(part))
        logger.warn({ part, awayMs: Date.now() - Date.parse(since) }, 'part.back')
      away.delete(part)
    } catch (error) {
      const reason = reasonOf(error)
      const since = away.get(part)?.since
      const isOpening = error instanceof PartAwayError && error.isOpening
      if (!isOpening && !told.has(part)) logger.warn({ part, reason }, 'part.away')
      if (!isOpening) told.add(part)
      away.set(part, { part, reason, since: since ?? new Date().toISOString() })
    }
  }

  const missing = (): MissingPart[] => [...away.values()]

  const look = async (): Promise<MissingPart[]> => {
    await Promise.all((Object.keys(looks) as PartName[]).map(lookAt))
    return missing()
  }

  const timer = setInterval(() => void look(), lookPauseMs).unref()
  return { look, missing, close: () => clearInterval(timer) }
}

/** Tells of Temporal alone. */
export const onlyTemporal = ({ look, missing }: Availability): Pick<Availability, 'look' | 'missing'> => {
  const ofTemporal = (parts: MissingPart[]): MissingPart[] => parts.filter(({ part }) => part === 'temporal')
  return { look: async () => ofTemporal(await look()), missing: () => ofTemporal(missing()) }
}

/** What is asked of the parts of a node. */
export const looksAt = (database: Database, temporal: Temporal): Record<PartName, () => Promise<unknown>> => ({
  database: () => database.query('select 1'),
  // Read from its database each time, which the usual questions after a server's health are not.
  temporal: () =>
    answerWithin(temporal, lookLimitMs, () =>
      temporal.connection.workflowService.describeNamespace({ namespace: temporal.namespace }),
    ),
})

function reasonOf(error: unknown): string {
  if (error instanceof PartAwayError) return error.reason
  const { message, code } = error as NodeJS.ErrnoException
  return message || String(code)
}
