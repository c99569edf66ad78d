import 'uplot/dist/uPlot.min.css'
import './event-chart.css'
import { Text, useComputedColorScheme, VisuallyHidden } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { useEffect, useRef } from 'react'
import UPlot, { type AlignedData, type Options } from 'uplot'
import type { Overview } from '../../../src/schemas/overview.ts'
import { countSteps, timeLabels } from './chart-axes.ts'
import { formatTime, zoneName } from './time.tsx'

const lines = {
  accepted: { label: 'Accepted', color: 'indigo' },
  delivered: { label: 'Successful attempts', color: 'teal' },
  failed: { label: 'Failed attempts', color: 'red' },
  rejected: { label: 'Rejected', color: 'orange' },
}

export type ChartMember = keyof typeof lines

/** Of one, and of any other number. */
const words: Record<ChartMember, [string, string]> = {
  accepted: ['event was accepted', 'events were accepted'],
  delivered: ['request to an endpoint succeeded', 'requests to endpoints succeeded'],
  failed: ['request to an endpoint failed', 'requests to endpoints failed'],
  rejected: ['event was rejected', 'events were rejected'],
}

const heightPx = 260

interface Props {
  series: Overview['series']
  /** What is drawn. */
  members: readonly ChartMember[]
}

/** Events and requests over time. */
export default function EventChart({ series, members }: Props) {
  if (series.length === 0) return <Text c="dimmed">Nothing happened in this range.</Text>
  const told = (member: ChartMember): string => {
    const count = series.reduce((total, point) => total + point[member], 0)
    return `${count.toLocaleString()} ${words[member][count === 1 ? 0 : 1]}`
  }
  return (
    <div>
      <VisuallyHidden>In this range {members.map(told).join(', ')}.</VisuallyHidden>
      <Plot series={series} members={members} />
      <Text size="xs" c="dimmed" ta="right">
        Times in {zoneName()}
      </Text>
    </div>
  )
}

function Plot({ series, members }: Props) {
  const { ref, width } = useElementSize()
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot>(undefined)
  const scheme = useComputedColorScheme()
  const data: AlignedData = [
    series.map(({ at }) => Date.parse(at) / 1_000),
    ...members.map((member) => series.map((point) => point[member])),
  ]
  const latest = useRef(data)
  const isSized = width > 0
  const drawn = members.join()
  useEffect(() => {
    const element = place.current
    if (element === null || !isSized) return
    plot.current = new UPlot(options(drawn.split(',') as ChartMember[], element), latest.current, element)
    return () => plot.current?.destroy()
    // The colours are those of the scheme.
  }, [isSized, drawn, scheme])
  useEffect(() => plot.current?.setSize({ width, height: heightPx }), [width, drawn, scheme])
  useEffect(() => {
    latest.current = data
    plot.current?.setData(data)
  })
  return (
    <div ref={ref} aria-hidden>
      <div ref={place} style={{ minHeight: heightPx }} />
    </div>
  )
}

/** @param element  whose style has the colours and the font of the page */
function options(members: readonly ChartMember[], element: HTMLElement): Options {
  const style = getComputedStyle(element)
  const color = (name: string): string => style.getPropertyValue(`--mantine-color-${name}`)
  const axis = {
    stroke: color('dimmed'),
    font: `12px ${style.fontFamily}`,
    grid: { stroke: color('default-border'), width: 1 },
    ticks: { show: false },
  }
  return {
    width: element.clientWidth,
    height: heightPx,
    scales: { y: { range: (_plot, _min, max) => [0, countSteps(max).at(-1) ?? 1] } },
    axes: [
      { ...axis, space: 70, values: (_plot, splits, _axis, _space, step) => timeLabels(splits, step) },
      {
        ...axis,
        size: (_plot, values) => 16 + 7 * Math.max(0, ...(values ?? []).map(({ length }) => length)),
        splits: (_plot, _axis, _min, max) => countSteps(max),
        values: (_plot, splits) => splits.map((count) => count.toLocaleString()),
      },
    ],
    series: [
      { label: 'Time', value: (_plot, at: number | null) => (at === null ? '–' : formatTime(at * 1_000)) },
      ...members.map((member) => ({
        label: lines[member].label,
        stroke: color(`${lines[member].color}-6`),
        fill: `color-mix(in srgb, ${color(`${lines[member].color}-6`)} 12%, transparent)`,
        width: 2,
        points: { show: false },
        value: (_plot: UPlot, count: number | null) => count?.toLocaleString() ?? '–',
      })),
    ],
    cursor: { drag: { x: false, y: false }, y: false },
  }
}
