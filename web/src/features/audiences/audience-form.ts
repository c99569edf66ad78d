/** An audience as the form holds it, and back to what the API takes. */

import type { Audience, AudiencePatch } from '../../../../src/schemas/audience.ts'
import type { NewAudience } from '../../api/audiences.ts'

export interface AudienceValues {
  name: string
  kind: 'audience' | 'trait'
  destinationIds: string[]
  from: 'push' | 'http' | 'sql'
  url: string
  headers: string
  connectionString: string
  query: string
  schedule: 'none' | 'interval' | 'cron'
  interval: string
  cron: string
}

export const emptyAudience: AudienceValues = {
  name: '',
  kind: 'audience',
  destinationIds: [],
  from: 'push',
  url: '',
  headers: '',
  connectionString: '',
  query: '',
  schedule: 'none',
  interval: '1h',
  cron: '0 6 * * *',
}

function toMembership({ from, url, headers, connectionString, query }: AudienceValues): NewAudience['membership'] {
  if (from === 'push') return { kind: 'push' }
  if (from === 'http') return { kind: 'http', url, headers: parseHeaders(headers) }
  return { kind: 'sql', connectionString, query }
}

function toSchedule({ from, schedule, interval, cron }: AudienceValues): NewAudience['schedule'] {
  if (from === 'push' || schedule === 'none') return null
  return schedule === 'cron' ? { cron } : { interval }
}

/** What is wrong with the lines of headers; null when nothing is. */
export function headersError(lines: string): string | null {
  const wrong = lines.split('\n').findIndex((line) => line.trim() !== '' && !/^\s*[^\s:][^:]*:/.test(line))
  return wrong === -1 ? null : `Line ${wrong + 1} is no header: write it as “Name: value”`
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
export const toValues = ({ name, membership, schedule }: Audience): AudienceValues => ({
  ...emptyAudience,
  name,
  from: membership.kind,
  schedule: schedule === null ? 'none' : schedule.cron === undefined ? 'interval' : 'cron',
  interval: schedule?.interval ?? emptyAudience.interval,
  cron: schedule?.cron ?? emptyAudience.cron,
})

/** A changed schedule keeps its jitter and its time zone. */
export function toPatch(values: AudienceValues, { schedule: before }: Audience, keepKey?: boolean): AudiencePatch {
  const schedule = toSchedule(values) ?? null
  const { jitter, timezone } = before ?? {}
  const kept = { ...(jitter !== undefined && { jitter }), ...(timezone !== undefined && { timezone }) }
  return {
    name: values.name,
    ...(values.from !== 'push' && { schedule: schedule && { ...kept, ...schedule } }),
    ...(keepKey !== undefined && { keepKey }),
  }
}

const fields: Record<string, keyof AudienceValues> = {
  'membership.url': 'url',
  'membership.headers': 'headers',
  'membership.connectionString': 'connectionString',
  'membership.query': 'query',
  'schedule.interval': 'interval',
  'schedule.cron': 'cron',
}

/** The form's field for a member of the body that the server found wrong. */
export function fieldOf(path: string): string | undefined {
  if (path in emptyAudience) return path
  return path.startsWith('membership.headers') ? 'headers' : fields[path]
}
