/** Makes the search attributes again when a start tells that the namespace lacks them: it was restored, or somebody changed
 *  it. Until then events wait, as if Temporal were away. */

import type { Logger } from '../logger.ts'
import type { Temporal } from './connection.ts'
import { isNamespaceFault } from './grpc-errors.ts'
import { ensureSearchAttributes } from './search-attributes.ts'

/** Pause between two tries, in milliseconds. */
const pauseMs = 10_000

export interface NamespaceRepair {
  /** Watches starts, whoever makes them: one that the namespace is at fault for has it repaired. */
  watch<Args extends unknown[], Result>(start: (...args: Args) => Promise<Result>): (...args: Args) => Promise<Result>
  /** Ends a repair under way. */
  stop(): Promise<void>
}

export function createNamespaceRepair(temporal: Temporal, logger: Logger): NamespaceRepair {
  const stopping = new AbortController()
  let repairing: Promise<void> | undefined
  let triedAt = -Infinity

  const repair = async (): Promise<void> => {
    const { namespace } = temporal
    triedAt = performance.now()
    logger.warn({ namespace }, 'temporal.search_attributes_missing')
    try {
      await ensureSearchAttributes(temporal, stopping.signal)
      logger.info({ namespace }, 'temporal.search_attributes_made')
    } catch (error) {
      if (stopping.signal.aborted) return
      logger.error({ namespace, error: (error as Error).message, pauseMs }, 'temporal.search_attributes_not_made')
    }
  }

  return {
    watch:
      (start) =>
      async (...args) => {
        try {
          return await start(...args)
        } catch (error) {
          if (isNamespaceFault(error) && performance.now() - triedAt > pauseMs && !stopping.signal.aborted)
            repairing ??= repair().finally(() => (repairing = undefined))
          throw error
        }
      },
    async stop() {
      stopping.abort()
      await repairing
    },
  }
}
