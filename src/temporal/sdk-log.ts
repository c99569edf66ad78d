/** What the SDK of Temporal and its native core log, as lines of this node's log. */

import type { LogEntry } from '@temporalio/worker'
import { LRUCache } from 'lru-cache'
import type { Logger } from '../logger.ts'
import { workflowFailed } from './sdk-internals/log-texts.ts'

/** Longest text that is taken over, in characters. */
const maxTextLength = 1_000

/** How long the native core's repeats of a line are left out, in milliseconds, and how many lines are known at a time: while Temporal is
 *  away, each of its calls tells the same again and again. */
const repeatsMs = 60_000
const maxKnownLines = 100

/** @returns takes a line of the SDK. Of its members only those are taken over that hold nothing of an event */
export const logSdkLines = (logger: Logger) => {
  const known = new LRUCache<string, true>({ max: maxKnownLines, ttl: repeatsMs })
  const isRepeat = (message: string): boolean => {
    const line = message.replaceAll(/\d+/g, '#')
    if (known.has(line)) return true
    known.set(line, true)
    return false
  }
  return ({ level, message, meta }: LogEntry): void => {
    // A delivery that failed for good is a fact about its receiver, and stands in the delivery log.
    if (message === workflowFailed) return
    const { sdkComponent, runId, workflowType, activityType, attempt, error } = (meta ?? {}) as Record<string, unknown>
    const isCore = sdkComponent === 'core'
    if (isCore && isRepeat(message)) return
    const facts = { runId, workflowType, activityType, attempt, text: cut(message) }
    logger[level === 'ERROR' ? 'error' : 'warn'](
      { ...facts, ...(error !== undefined && { error: cut(textOf(error)) }) },
      isCore ? 'temporal.core' : 'temporal.sdk',
    )
  }
}

/** Of what Rust prints of an error, its message. */
function textOf(error: unknown): string {
  if (error instanceof Error) return error.message
  const text = typeof error === 'string' ? error : (JSON.stringify(error) ?? '')
  return /message: "((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? text
}

const cut = (text: string): string => text.slice(0, maxTextLength)
