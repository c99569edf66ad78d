/** Which of the parts that the node stands on answer: looked at again and again, and logged once when one goes and once when it
 *  is back. */

import type { Roles } from './config.ts'
import type { Database } from './db/database.ts'
import { PartAwayError, partTexts, type PartName } from './errors.ts'
import type { Logger } from './logger.ts'
import type { MissingPart } from './schemas/system.ts'
import { answerWithin } from './temporal/answer-within.ts'
import type { Temporal } from './temporal/connection.ts'
import { assertPolled } from './temporal/pollers.ts'
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

/** What is asked of each part that the node needs. */
type Looks = Partial<Record<PartName, () => Promise<unknown>>>

/** @param looks  asks each part something; what it throws is why the part is away
 *  @param addressOf  where a part is, for the log */
export function watchAvailability(
  looks: Looks,
  logger: Logger,
  addressOf: (part: PartName) => string | undefined,
): Availability {
  const away = new Map<PartName, MissingPart>()
  const told = new Set<PartName>()
  /** A part that hangs gets no second question. */
  const asked = new Map<PartName, Promise<unknown>>()

  const ask = (part: PartName, look: () => Promise<unknown>): Promise<unknown> => {
    const answer = asked.get(part) ?? look().finally(() => asked.delete(part))
    asked.set(part, answer)
    return within(lookLimitMs, partTexts[part], answer)
  }

  const lookAt = async ([part, look]: [PartName, () => Promise<unknown>]): Promise<void> => {
    try {
      await ask(part, look)
      const since = away.get(part)?.since
      if (since !== undefined && told.delete(part))
        logger.warn({ part, address: addressOf(part), awayMs: Date.now() - Date.parse(since) }, 'part.back')
      away.delete(part)
    } catch (error) {
      const reason = reasonOf(error)
      const since = away.get(part)?.since
      const isOpening = error instanceof PartAwayError && error.isOpening
      if (!isOpening && !told.has(part)) logger.warn({ part, address: addressOf(part), reason }, 'part.away')
      if (!isOpening) told.add(part)
      away.set(part, { part, reason, since: since ?? new Date().toISOString() })
    }
  }

  const missing = (): MissingPart[] => [...away.values()]

  const look = async (): Promise<MissingPart[]> => {
    await Promise.all((Object.entries(looks) as [PartName, () => Promise<unknown>][]).map(lookAt))
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

/** What is asked of the parts of a node: one that does not deliver itself needs others that do. */
export const looksAt = (database: Database, temporal: Temporal, { worker }: Roles): Looks => ({
  database: () => database.query('select 1'),
  // Read from its database each time, which the usual questions after a server's health are not.
  temporal: () =>
    answerWithin(temporal, lookLimitMs, () =>
      temporal.connection.workflowService.describeNamespace({ namespace: temporal.namespace }),
    ),
  ...(!worker && { worker: () => answerWithin(temporal, lookLimitMs, () => assertPolled(temporal)) }),
})

function reasonOf(error: unknown): string {
  if (error instanceof PartAwayError) return error.reason
  const { message, code } = error as NodeJS.ErrnoException
  return message || String(code)
}
