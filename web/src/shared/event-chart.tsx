import '@mantine/charts/styles.css'
import { AreaChart } from '@mantine/charts'
import { Text, VisuallyHidden } from '@mantine/core'
import dayjs from 'dayjs'
import type { Overview } from '../../../src/schemas/overview.ts'

const lines = {
  accepted: { name: 'accepted', label: 'Accepted', color: 'indigo.6' },
  delivered: { name: 'delivered', label: 'Delivered', color: 'teal.6' },
  failed: { name: 'failed', label: 'Failed attempts', color: 'red.6' },
  rejected: { name: 'rejected', label: 'Rejected', color: 'orange.6' },
}

export type ChartMember = keyof typeof lines

const dayMs = 24 * 3_600_000

const words: Record<ChartMember, string> = {
  accepted: 'events were accepted',
  delivered: 'requests to endpoints succeeded',
  failed: 'requests to endpoints failed',
  rejected: 'events were rejected',
}

interface Props {
  series: Overview['series']
  /** What is drawn. */
  members: readonly ChartMember[]
}

/** Events and requests over time. */
export default function EventChart({ series: points, members }: Props) {
  const first = points[0]
  const last = points.at(-1)
  if (first === undefined || last === undefined) return <Text c="dimmed">Nothing happened in this range.</Text>
  const format = Date.parse(last.at) - Date.parse(first.at) > dayMs ? 'D MMM HH:mm' : 'HH:mm'
  const sum = (member: ChartMember): number => points.reduce((total, point) => total + point[member], 0)
  return (
    <>
      <VisuallyHidden>
        In this range {members.map((member) => `${sum(member)} ${words[member]}`).join(', ')}.
      </VisuallyHidden>
      <AreaChart
        aria-hidden
        h={300}
        data={points.map((point) => ({ ...point, at: dayjs(point.at).format(format) }))}
        dataKey="at"
        series={members.map((member) => lines[member])}
        curveType="monotone"
        withDots={false}
        withLegend
        fillOpacity={0.15}
        areaChartProps={{ accessibilityLayer: false }}
        yAxisProps={{ allowDecimals: false }}
      />
    </>
  )
}
