/** The range of the overview, as the address bar holds it. */

export const ranges = [
  { value: '1h', label: '1 hour', ms: 3_600_000 },
  { value: '24h', label: '24 hours', ms: 24 * 3_600_000 },
  { value: '7d', label: '7 days', ms: 7 * 24 * 3_600_000 },
] as const

export type RangeName = (typeof ranges)[number]['value'] | 'custom'

export interface OverviewSearch {
  range?: RangeName | undefined
  since?: string | undefined
  until?: string | undefined
  sourceId?: string | undefined
  destinationId?: string | undefined
}

/** Reads the range from an address; what does not fit is left out. */
export function readRange(search: Record<string, unknown>): OverviewSearch {
  const range = [...ranges.map(({ value }) => value), 'custom' as const].find((name) => name === search['range'])
  const text = (member: string): string | undefined => {
    const value = search[member]
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const time = (member: string): string | undefined => {
    const value = text(member)
    return value === undefined || Number.isNaN(Date.parse(value)) ? undefined : new Date(value).toISOString()
  }
  return {
    range,
    since: time('since'),
    until: time('until'),
    sourceId: text('sourceId'),
    destinationId: text('destinationId'),
  }
}

/** Rounded, so that the same range is the same question to the server for a while. */
const stepMs = 10_000

/** Beginning and end of the range; a range up to now has no end. */
function limits({ range = '24h', since, until }: OverviewSearch, now: number): { since: string; until?: string } {
  const length = ranges.find(({ value }) => value === range)?.ms
  if (length === undefined && since !== undefined) return until === undefined ? { since } : { since, until }
  return { since: new Date(Math.floor((now - (length ?? ranges[1].ms)) / stepMs) * stepMs).toISOString() }
}

/** What the overview counts: the range, and what of it. */
export const overviewFilter = (search: OverviewSearch, now: number) => ({
  ...limits(search, now),
  ...(search.sourceId !== undefined && { sourceId: search.sourceId }),
  ...(search.destinationId !== undefined && { destinationId: search.destinationId }),
})
