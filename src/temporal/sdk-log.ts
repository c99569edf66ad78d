/** What the SDK of Temporal and its native core log, as lines of this node's log. */

import type { LogEntry } from '@temporalio/worker'
import type { Logger } from '../logger.ts'
import { workflowFailed } from './sdk-internals/log-texts.ts'

/** Longest text that is taken over, in characters. */
const maxTextLength = 1_000

/** @returns takes a line of the SDK. Of its members only those are taken over that hold nothing of an event */
export const logSdkLines =
  (logger: Logger) =>
  ({ level, message, meta }: LogEntry): void => {
    // A delivery that failed for good is a fact about its receiver, and stands in the delivery log.
    if (message === workflowFailed) return
    const { sdkComponent, runId, workflowType, activityType, attempt, error } = (meta ?? {}) as Record<string, unknown>
    const facts = { runId, workflowType, activityType, attempt, text: cut(message) }
    logger[level === 'ERROR' ? 'error' : 'warn'](
      { ...facts, ...(error !== undefined && { error: cut(textOf(error)) }) },
      sdkComponent === 'core' ? 'temporal.core' : 'temporal.sdk',
    )
  }

const textOf = (error: unknown): string => (error instanceof Error ? error.message : (JSON.stringify(error) ?? ''))

const cut = (text: string): string => text.slice(0, maxTextLength)
