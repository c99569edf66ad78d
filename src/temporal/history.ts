/** Reading the history of a workflow. */

import type { temporal } from '@temporalio/proto'
import type { Temporal } from './connection.ts'
import { decode, opened } from './opened.ts'
import { localActivityResult } from './sdk-internals/local-activity.ts'

export type HistoryEvent = temporal.api.history.v1.IHistoryEvent
type Payloads = temporal.api.common.v1.IPayloads

/** Pages of history that are read; a retry window of 4 hours has one. */
const maxHistoryPages = 20

/** Events of one run, oldest first. */
export async function* historyOf(
  { client, namespace, payloads }: Temporal,
  execution: { workflowId: string; runId: string },
): AsyncGenerator<HistoryEvent> {
  let nextPageToken: Uint8Array | undefined
  for (let page = 0; page < maxHistoryPages; page++) {
    const answer = await client.workflowService.getWorkflowExecutionHistory({
      namespace,
      execution,
      ...(nextPageToken !== undefined && { nextPageToken }),
    })
    yield* opened(payloads, answer.history?.events ?? [])
    nextPageToken = answer.nextPageToken
    if (nextPageToken.length === 0) return
  }
}

/** The only value of what holds a list of values. */
export const first = <Value>(payloads: Payloads | null | undefined): Value | undefined => {
  const payload = payloads?.payloads?.[0]
  return payload ? (decode(payload) as Value) : undefined
}

/** What a local activity answered. */
export const localResult = <Result>(event: HistoryEvent): Result | undefined =>
  first<Result>(localActivityResult(event))

/** A timer that runs. */
export interface RunningTimer {
  firesAt: Date
  /** What it was started for, in the words of the workflow. */
  summary: string | undefined
}

/** Keeps a list of the timers that run, by the id of the event that started them. */
export function noteTimers(timers: Map<string, RunningTimer>, event: HistoryEvent, at: string): void {
  if (event.timerStartedEventAttributes) {
    const { startToFireTimeout } = event.timerStartedEventAttributes
    const firesAt = new Date(Date.parse(at) + Number(startToFireTimeout?.seconds ?? 0) * 1_000)
    const summary = event.userMetadata?.summary
    timers.set(String(event.eventId), { firesAt, summary: summary ? (decode(summary) as string) : undefined })
  }
  const ended = event.timerFiredEventAttributes ?? event.timerCanceledEventAttributes
  if (ended) timers.delete(String(ended.startedEventId))
}
