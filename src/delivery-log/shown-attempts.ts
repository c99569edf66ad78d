/** Attempts as the delivery log shows them: with what was sent and answered, as it was then. */

import type { Attempt } from '../contracts/delivery.ts'
import { showEvidence, type Evidence } from '../delivery/evidence.ts'
import type { DeliveryAttempt } from '../schemas/delivery.ts'
import type { Temporal } from '../temporal/connection.ts'

/** Opens the evidence of attempts.
 *  @param messageId  of their event; undefined when it was erased
 *  @throws AppError unavailable while the keys cannot be read */
export const shownAttempts = (
  { messages }: Pick<Temporal, 'messages'>,
  made: readonly Attempt[],
  messageId: string | undefined,
): Promise<DeliveryAttempt[]> =>
  Promise.all(
    made.map(async (attempt) => {
      const {
        endpointId,
        at,
        durationMs,
        url = null,
        status = null,
        error = null,
        isFinal = null,
        retryAfterMs = null,
        evidence: kept,
      } = attempt
      const evidence = messageId === undefined || kept === undefined ? undefined : await openEvidence(messages, kept)
      const shown = evidence && showEvidence(evidence, messageId ?? '', new Date(at))
      return {
        ...{ endpointId, url, at, durationMs, status, error, isFinal, retryAfterMs },
        request: shown?.request ?? null,
        response: shown?.answer ? { headers: shown.answer } : null,
        isCut: shown?.isCut ?? false,
        excerpt: (messageId === undefined ? undefined : (shown?.excerpt ?? attempt.excerpt)) ?? null,
      }
    }),
  )

/** Of an event that speaks of no user it is not sealed. */
const openEvidence = async (messages: Temporal['messages'], kept: string): Promise<Evidence | undefined> =>
  (kept.startsWith('{') ? JSON.parse(kept) : await messages.open(kept)) as Evidence | undefined
