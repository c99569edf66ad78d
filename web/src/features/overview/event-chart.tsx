import '@mantine/charts/styles.css'
import { AreaChart } from '@mantine/charts'
import { Text, VisuallyHidden } from '@mantine/core'
import dayjs from 'dayjs'
import type { Overview } from '../../../../src/schemas/overview.ts'

const series = [
  { name: 'accepted', label: 'Accepted', color: 'indigo.6' },
  { name: 'delivered', label: 'Delivered', color: 'teal.6' },
  { name: 'failed', label: 'Failed attempts', color: 'red.6' },
  { name: 'rejected', label: 'Rejected', color: 'orange.6' },
]

const dayMs = 24 * 3_600_000

/** Events and requests over time. */
export default function EventChart({ series: points }: { series: Overview['series'] }) {
  const first = points[0]
  const last = points.at(-1)
  if (first === undefined || last === undefined) return <Text c="dimmed">Nothing happened in this range.</Text>
  const format = Date.parse(last.at) - Date.parse(first.at) > dayMs ? 'D MMM HH:mm' : 'HH:mm'
  const sum = (member: 'accepted' | 'delivered' | 'failed' | 'rejected'): number =>
    points.reduce((total, point) => total + point[member], 0)
  return (
    <>
      <VisuallyHidden>
        In this range {sum('accepted')} events were accepted, {sum('rejected')} rejected; {sum('delivered')} requests to
        endpoints succeeded and {sum('failed')} failed.
      </VisuallyHidden>
      <AreaChart
        aria-hidden
        h={300}
        data={points.map((point) => ({ ...point, at: dayjs(point.at).format(format) }))}
        dataKey="at"
        series={series}
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
