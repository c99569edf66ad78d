import ms from 'ms'
import { AppError } from '../../errors.ts'
import type { AudienceSchedule } from '../../schemas/audience.ts'

/** Shortest time between two syncs, in seconds: as often as a cron line can have them. Each one reads the whole membership. */
const minIntervalSeconds = 60

/** Refuses a schedule that syncs too often; one that is there already may stay.
 *  @throws AppError bad_request that names the member at fault */
export function checkSchedule(schedule: AudienceSchedule | null | undefined, before: AudienceSchedule | null): void {
  const { interval, cron } = schedule ?? {}
  if (interval !== undefined && interval !== before?.interval && isTooShort(interval))
    throw memberError('schedule.interval', `must be at least ${minIntervalSeconds}s: each sync reads all members`)
  // Temporal takes lines with seconds, and `@every 1s`, too.
  if (cron !== undefined && cron !== before?.cron && !hasFiveFields(cron))
    throw memberError('schedule.cron', 'must have five fields, as in 0 6 * * *')
}

const isTooShort = (interval: string): boolean => ms(interval as ms.StringValue) < minIntervalSeconds * 1_000

/** Names such as `@daily` stand for five. */
const hasFiveFields = (cron: string): boolean => /^(@[a-z]+|\S+(\s+\S+){4})$/i.test(cron.trim())

const memberError = (path: string, message: string): AppError =>
  new AppError('bad_request', `${path} ${message}`, { path })
