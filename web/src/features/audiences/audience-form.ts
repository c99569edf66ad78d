/** An audience as the form holds it, and back to what the API takes. */

import type { Audience, AudiencePatch, MemberFormat } from '../../../../src/schemas/audience.ts'
import type { NewAudience } from '../../api/audiences.ts'
import type { Bounds } from '../../shared/bounds.ts'

export interface AudienceValues {
  name: string
  kind: 'audience' | 'trait'
  destinationIds: string[]
  from: 'push' | 'http' | 'sql'
  url: string
  headers: string
  /** Of the file at the URL; `told`: as its Content-Type says. */
  format: MemberFormat | 'told'
  connectionString: string
  query: string
  schedule: 'none' | 'interval' | 'cron'
  interval: string
  cron: string
  /** In which the cron expression counts; it is set elsewhere. */
  timezone: string
  /** Shares in percent. */
  maxBadRowPercent: number
  maxRemovalPercent: number
  /** Empty: as many as it takes. */
  maxPerSecond: number | ''
}

export const emptyAudience: AudienceValues = {
  name: '',
  kind: 'audience',
  destinationIds: [],
  from: 'push',
  url: '',
  headers: '',
  format: 'told',
  connectionString: '',
  query: '',
  schedule: 'none',
  interval: '1h',
  cron: '0 6 * * *',
  timezone: 'UTC',
  maxBadRowPercent: 0,
  maxRemovalPercent: 50,
  maxPerSecond: '',
}

function toMembership({
  from,
  url,
  headers,
  format,
  connectionString,
  query,
}: AudienceValues): NewAudience['membership'] {
  if (from === 'push') return { kind: 'push' }
  if (from === 'http') return { kind: 'http', url, headers: parseHeaders(headers), ...toFormat(format) }
  return { kind: 'sql', connectionString, query }
}

const toFormat = (format: AudienceValues['format']): { format?: MemberFormat } => (format === 'told' ? {} : { format })

function toSchedule({ from, schedule, interval, cron }: AudienceValues): NewAudience['schedule'] {
  if (from === 'push' || schedule === 'none') return null
  return schedule === 'cron' ? { cron } : { interval }
}

/** What is wrong with the lines of headers; null when nothing is. */
export function headersError(lines: string): string | null {
  const all = lines.split('\n')
  const wrong = all.findIndex((line) => line.trim() !== '' && !/^\s*[^\s:][^:]*:/.test(line))
  if (wrong !== -1) return `Line ${wrong + 1} is not a header: write it as “Name: value”`
  const names = all.map((line) => line.split(':')[0]?.trim().toLowerCase() ?? '')
  const repeated = names.findIndex((name, index) => name !== '' && names.indexOf(name) < index)
  return repeated === -1 ? null : `Line ${repeated + 1} is a header that another line has: keep one of them`
}

/** One header a line, as in `Authorization: Bearer …`. */
const parseHeaders = (lines: string): Record<string, string> =>
  Object.fromEntries(
    lines
      .split('\n')
      .filter((line) => line.includes(':'))
      .map((line) => [line.slice(0, line.indexOf(':')).trim(), line.slice(line.indexOf(':') + 1).trim()]),
  )

export const toNewAudience = (values: AudienceValues): NewAudience => ({
  name: values.name,
  kind: values.kind,
  destinationIds: values.destinationIds,
  membership: toMembership(values),
  schedule: toSchedule(values),
})

/** What can be edited later; the rest of the form's values stays out of it. */
export const toValues = (audience: Audience): AudienceValues => ({
  ...emptyAudience,
  ...toGuards(audience),
  name: audience.name,
  destinationIds: audience.destinationIds,
  from: audience.membership.kind,
  url: audience.membership.kind === 'http' ? audience.membership.url : '',
  format: (audience.membership.kind === 'http' ? audience.membership.format : undefined) ?? 'told',
  query: audience.membership.kind === 'sql' ? audience.membership.query : '',
  ...toScheduleValues(audience),
})

const toGuards = ({ maxBadRowShare, maxRemovalShare, maxPerSecond }: Audience) => ({
  maxBadRowPercent: inPercent(maxBadRowShare),
  maxRemovalPercent: inPercent(maxRemovalShare),
  maxPerSecond: maxPerSecond ?? ('' as const),
})

export const inPercent = (share: number): number => Math.round(share * 100_000) / 1_000

const toScheduleValues = ({
  schedule,
}: Audience): Pick<AudienceValues, 'schedule' | 'interval' | 'cron' | 'timezone'> => ({
  schedule: schedule === null ? 'none' : schedule.cron === undefined ? 'interval' : 'cron',
  interval: schedule?.interval ?? emptyAudience.interval,
  cron: schedule?.cron ?? emptyAudience.cron,
  timezone: schedule?.timezone ?? emptyAudience.timezone,
})

/** What the API has without a place in the form stays. Secrets that are left empty stay too. */
export function toPatch(values: AudienceValues, audience: Audience, keepKey?: boolean): AudiencePatch {
  const { schedule: before } = audience
  const schedule = toSchedule(values) ?? null
  const { jitter, timezone } = before ?? {}
  const kept = { ...(jitter !== undefined && { jitter }), ...(timezone !== undefined && { timezone }) }
  return {
    name: values.name,
    destinationIds: values.destinationIds,
    maxBadRowShare: values.maxBadRowPercent / 100,
    maxRemovalShare: values.maxRemovalPercent / 100,
    maxPerSecond: values.maxPerSecond === '' ? null : values.maxPerSecond,
    ...toMembershipPatch(values, audience),
    ...(values.from !== 'push' && { schedule: schedule && { ...kept, ...schedule } }),
    ...(keepKey !== undefined && { keepKey }),
  }
}

/** Nothing when the members go on coming from the same place, so that the next fetch is spared when nothing changed. */
function toMembershipPatch(values: AudienceValues, { membership }: Audience): Pick<AudiencePatch, 'membership'> {
  if (membership.kind === 'http') {
    const hasNewHeaders = values.headers.trim() !== ''
    const isOfFormat = values.format === (membership.format ?? 'told')
    if (values.url === membership.url && isOfFormat && !hasNewHeaders) return {}
    const headers = hasNewHeaders ? { headers: parseHeaders(values.headers) } : {}
    return { membership: { kind: 'http', url: values.url, ...headers, ...toFormat(values.format) } }
  }
  if (membership.kind === 'push') return {}
  const { statementTimeoutSeconds } = membership
  const connectionString = values.connectionString.trim()
  if (values.query === membership.query && connectionString === '') return {}
  const connection = connectionString === '' ? {} : { connectionString }
  return { membership: { kind: 'sql', query: values.query, statementTimeoutSeconds, ...connection } }
}

/** Bounds of the shares: the server tells them as numbers from 0 to 1. */
export const percentBounds: Bounds = { min: 0, max: 100, unit: '%' }

/** What the form calls the members of an audience. */
export const labels: Record<Exclude<keyof AudiencePatch, 'keepKey'>, string> = {
  name: 'Name',
  destinationIds: 'Destinations',
  membership: 'URL, headers, format, connection or query',
  schedule: 'Schedule',
  maxRemovalShare: 'Needs confirmation to remove more than',
  maxBadRowShare: 'Bad rows allowed',
  maxPerSecond: 'Most calls per second',
}

const fields: Record<string, keyof AudienceValues> = {
  maxBadRowShare: 'maxBadRowPercent',
  maxRemovalShare: 'maxRemovalPercent',
  'membership.url': 'url',
  'membership.headers': 'headers',
  'membership.format': 'format',
  'membership.connectionString': 'connectionString',
  'membership.query': 'query',
  'schedule.interval': 'interval',
  'schedule.cron': 'cron',
}

/** The form's field for a member of the body that the server found wrong. */
export function fieldOf(path: string): string | undefined {
  if (path in emptyAudience) return path
  if (path.startsWith('destinationIds[')) return 'destinationIds'
  return path.startsWith('membership.headers') ? 'headers' : fields[path]
}
