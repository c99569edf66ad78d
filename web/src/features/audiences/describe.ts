import type { Audience, MembershipView } from '../../../../src/schemas/audience.ts'

/** Where the members come from, in a few words. */
export function describeMembership(membership: MembershipView): string {
  switch (membership.kind) {
    case 'push':
      return 'uploads'
    case 'http':
      return membership.url
    case 'sql':
      return `${membership.database} on ${membership.host}`
  }
}

/** When syncs start by themselves, in a few words. */
export function describeSchedule({ schedule, paused }: Pick<Audience, 'schedule' | 'paused'>): string {
  if (schedule === null) return 'none'
  const when =
    schedule.cron === undefined
      ? `every ${schedule.interval}`
      : `cron ${schedule.cron} in ${schedule.timezone ?? 'UTC'}`
  return paused ? `${when} (paused)` : when
}
