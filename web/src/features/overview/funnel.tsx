import { Box, Group, Stack, Text } from '@mantine/core'
import { Fragment, type ReactNode } from 'react'
import type { DeliveryFilter, DeliveryStatus } from '../../../../src/schemas/delivery.ts'
import type { TurnedAwayFate, TurnedAwayFilter } from '../../../../src/schemas/turned-away.ts'
import type { Overview } from '../../../../src/schemas/overview.ts'
import { Link } from '../../shared/link.tsx'
import { refusalText } from '../../shared/refusals.ts'

interface Props {
  overview: Overview
  /** What the lists behind the numbers are narrowed to. */
  filter: DeliveryFilter
}

type FunnelMember = keyof Overview['funnel']

interface Step {
  member: FunnelMember
  label: string
  color: string
  /** The list behind the number. */
  status?: DeliveryStatus
  /** The events behind the number, which became no delivery. */
  fate?: TurnedAwayFate
  /** Left out while it is zero. */
  isRare?: boolean
}

const intake: Step[] = [
  { member: 'received', label: 'Received', color: 'indigo.7' },
  { member: 'rejected', label: 'Rejected', color: 'red.7', fate: 'rejected' },
  { member: 'filtered', label: 'Filtered', color: 'gray.6', fate: 'filtered', isRare: true },
  { member: 'suppressed', label: 'Suppressed', color: 'gray.6', fate: 'suppressed', isRare: true },
  { member: 'noDestination', label: 'No destination', color: 'yellow.7', fate: 'no_destination' },
  { member: 'accepted', label: 'Accepted', color: 'indigo.5' },
  { member: 'duplicate', label: 'Duplicates, of the accepted', color: 'gray.6', isRare: true },
]

const outcomes: Step[] = [
  { member: 'queued', label: 'Queued', color: 'gray.6', status: 'queued', isRare: true },
  { member: 'delivering', label: 'Delivering', color: 'blue.6', status: 'delivering' },
  { member: 'retrying', label: 'Retrying', color: 'yellow.7', status: 'retrying' },
  { member: 'held', label: 'Held', color: 'grape.6', status: 'held' },
  { member: 'delivered', label: 'Delivered', color: 'teal.7', status: 'delivered' },
  {
    member: 'partly_delivered',
    label: 'Partly delivered',
    color: 'orange.7',
    status: 'partly_delivered',
    isRare: true,
  },
  { member: 'failed', label: 'Failed', color: 'red.7', status: 'failed' },
  { member: 'discarded', label: 'Discarded', color: 'gray.6', status: 'discarded', isRare: true },
  { member: 'cancelled', label: 'Cancelled', color: 'gray.6', status: 'cancelled', isRare: true },
]

/** Where the events of the range went; each number leads to the list behind it. */
export function Funnel({ overview: { funnel, rejectedReasons }, filter }: Props) {
  const most = Math.max(1, ...Object.values(funnel).map((value) => value ?? 0))
  const row = (step: Step): ReactNode => {
    const value = funnel[step.member]
    if (step.isRare === true && value === 0) return null
    return <Bar key={step.member} step={step} value={value} most={most} filter={filter} />
  }
  return (
    <Stack gap="lg">
      <Stack gap={6}>
        {filter.destinationId !== undefined && (
          <Text size="sm" c="dimmed">
            What came in at its sources, also for other destinations
          </Text>
        )}
        {intake.map((step) => (
          <Fragment key={step.member}>
            {row(step)}
            {step.member === 'rejected' && <Reasons reasons={rejectedReasons} filter={filter} />}
          </Fragment>
        ))}
      </Stack>
      <Stack gap={6}>
        <Text size="sm" c="dimmed">
          Deliveries that started in this range, as they stand now
        </Text>
        {outcomes.map(row)}
      </Stack>
    </Stack>
  )
}

/** What a list of events that became no delivery is narrowed to. */
const eventsOf = ({ since, until, sourceId, destinationId }: DeliveryFilter): TurnedAwayFilter => ({
  ...(since !== undefined && { since }),
  ...(until !== undefined && { until }),
  ...(sourceId !== undefined && { sourceId }),
  ...(destinationId !== undefined && { destinationId }),
})

interface ReasonsProps extends Pick<Props, 'filter'> {
  reasons: Overview['rejectedReasons']
}

const Reasons = ({ reasons, filter }: ReasonsProps) =>
  reasons.map(({ reason, events }) => (
    <Group key={reason} justify="space-between" pl="md" wrap="nowrap">
      <Link to="/turned-away" search={{ ...eventsOf(filter), reason }} size="sm">
        {refusalText(reason)}
      </Link>
      <Text size="sm" c="dimmed">
        {events.toLocaleString()}
      </Text>
    </Group>
  ))

interface BarProps {
  step: Step
  value: number | null
  most: number
  filter: Props['filter']
}

function Bar({ step, value, most, filter }: BarProps) {
  const share = ((value ?? 0) / most) * 100
  return (
    <div>
      <Group justify="space-between" wrap="nowrap" gap="sm">
        <StepLink step={step} filter={filter} />
        <Text size="sm" fw={600}>
          {value === null ? 'unknown' : value.toLocaleString()}
        </Text>
      </Group>
      <Box h={6} bg="var(--mantine-color-default-hover)" style={{ borderRadius: 3 }} aria-hidden>
        <Box h={6} w={`${share}%`} bg={step.color} style={{ borderRadius: 3, minWidth: (value ?? 0) > 0 ? 4 : 0 }} />
      </Box>
    </div>
  )
}

/** Leads to the deliveries, or to the events that became none; for all other numbers, to the source. */
function StepLink({ step: { label, status, fate, member }, filter }: Pick<BarProps, 'step' | 'filter'>) {
  const { sourceId, destinationId } = filter
  if (status !== undefined)
    return (
      <Link to="/deliveries" search={{ ...filter, status }} size="sm">
        {label}
      </Link>
    )
  // What a destination's sources accepted is not what it got: no list has just these.
  if (member === 'accepted' && destinationId === undefined)
    return (
      <Link to="/deliveries" search={filter} size="sm">
        {label}
      </Link>
    )
  if (fate !== undefined)
    return (
      <Link to="/turned-away" search={{ ...eventsOf(filter), fate }} size="sm">
        {label}
      </Link>
    )
  if (sourceId === undefined)
    return (
      <Link to="/sources" size="sm">
        {label}
      </Link>
    )
  return (
    <Link to="/sources/$id" params={{ id: sourceId }} size="sm">
      {label}
    </Link>
  )
}
