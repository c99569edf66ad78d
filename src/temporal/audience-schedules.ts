/** The Temporal Schedules that start syncs by themselves. */

import {
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
  type ScheduleOptions,
} from '@temporalio/client'
import { audienceScheduleId, scheduledRunId } from '../contracts/audience-sync.ts'
import { taskQueue } from '../contracts/names.ts'
import { AppError } from '../errors.ts'
import type { AudienceSchedule } from '../schemas/audience.ts'
import type { scheduledSync } from '../../workflows/scheduled-sync.ts'
import type { Temporal } from './connection.ts'

/** How late a run may be made when Temporal was away. */
const catchupWindow = '1 day'

type Duration = NonNullable<ScheduleOptions['spec']['jitter']>

/** Makes the Schedule of an audience what it should be.
 *  @param schedule  null: none
 *  @throws AppError bad_request when Temporal does not take the cron expression or time zone */
export async function putSchedule(
  temporal: Temporal,
  audienceId: string,
  schedule: AudienceSchedule | null,
  paused: boolean,
): Promise<void> {
  if (schedule === null) {
    await deleteSchedule(temporal, audienceId)
    return
  }
  const options = scheduleOptions(audienceId, schedule, paused)
  try {
    await temporal.client.schedule.create(options)
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw asBadRequest(error, schedule)
    try {
      const handle = temporal.client.schedule.getHandle(options.scheduleId)
      await handle.update((previous) => ({ ...previous, ...options, state: { ...previous.state, paused } }))
    } catch (updateError) {
      throw asBadRequest(updateError, schedule)
    }
  }
}

/** Nothing happens when there is none. */
export async function deleteSchedule({ client }: Temporal, audienceId: string): Promise<void> {
  try {
    await client.schedule.getHandle(audienceScheduleId(audienceId)).delete()
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error
  }
}

/** Makes the runs that were due in a past time, one after the other.
 *  @throws AppError conflict when the audience has no schedule */
export async function backfill({ client }: Temporal, audienceId: string, from: Date, to: Date): Promise<void> {
  try {
    await client.schedule
      .getHandle(audienceScheduleId(audienceId))
      .backfill({ start: from, end: to, overlap: ScheduleOverlapPolicy.BUFFER_ALL })
  } catch (error) {
    if (error instanceof ScheduleNotFoundError)
      throw new AppError('conflict', 'the audience has no schedule: give it one first')
    throw error
  }
}

const scheduleOptions = (audienceId: string, { cron, interval, jitter, timezone }: AudienceSchedule, paused: boolean) =>
  ({
    scheduleId: audienceScheduleId(audienceId),
    spec: {
      ...(cron !== undefined && { cronExpressions: [cron] }),
      ...(interval !== undefined && { intervals: [{ every: interval as Duration }] }),
      ...(jitter !== undefined && { jitter: jitter as Duration }),
      ...(timezone !== undefined && { timezone }),
    },
    action: {
      type: 'startWorkflow',
      workflowType: 'scheduledSync',
      workflowId: scheduledRunId(audienceId),
      taskQueue,
      args: [{ audienceId }] as Parameters<typeof scheduledSync>,
    },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow },
    state: { paused },
  }) satisfies ScheduleOptions

/** gRPC status of a request that is at fault itself. */
const invalidArgument = 3

function asBadRequest(error: unknown, { cron }: AudienceSchedule): Error {
  const cause = (error as { cause?: { code?: number; details?: string } }).cause
  if (cause?.code !== invalidArgument) return error as Error
  // Temporal says no more when it refuses a change of a schedule.
  const reason = cause.details || 'Temporal does not accept this cron expression, time zone or interval'
  const path = cron === undefined ? 'schedule.interval' : 'schedule.cron'
  return new AppError('bad_request', `${path}: ${reason}`, { path })
}
