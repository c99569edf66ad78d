import { Button, Group, Stack, Text } from '@mantine/core'
import { IconSend } from '@tabler/icons-react'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { DeliveryFilter } from '../../../../src/schemas/delivery.ts'
import type { TurnedAwayFilter } from '../../../../src/schemas/turned-away.ts'
import { deliveryCountQuery } from '../../api/deliveries.ts'
import { statusQuery } from '../../api/system.ts'
import { turnedAwayQuery } from '../../api/turned-away.ts'
import { EmptyState } from '../../shared/empty-state.tsx'
import { whyTurnedAway } from '../../shared/fates.ts'
import { ButtonLink, Link } from '../../shared/link.tsx'

interface Props {
  filter: DeliveryFilter
  onChange: (filter: DeliveryFilter) => void
}

/** In the place of an empty list: why it is empty. */
export function NothingHere({ filter, onChange }: Props) {
  if (Object.keys(filter).length === 0) return <NoneYet />
  return (
    <EmptyState
      icon={<IconSend aria-hidden />}
      title="No delivery matches these filters"
      action={<Button onClick={() => onChange({})}>Clear filters</Button>}
    >
      <Stack gap="xs" component="span">
        <LeftOut filter={filter} onChange={onChange} />
        <TurnedAway filter={filter} />
        <Gone />
      </Stack>
    </EmptyState>
  )
}

/** Whether the event or user that is looked for is there, and another filter leaves it out. */
function LeftOut({ filter, onChange }: Props) {
  const { messageId, userId } = filter
  const wanted: DeliveryFilter =
    messageId !== undefined ? { messageId } : userId !== undefined ? { userId } : withoutTimes(filter)
  const isNarrower = Object.keys(wanted).length < Object.keys(filter).length && Object.keys(wanted).length > 0
  const count = useQuery({ ...deliveryCountQuery(wanted), enabled: isNarrower }).data?.count ?? 0
  if (count === 0) return null
  const what = messageId !== undefined ? 'this message id' : userId !== undefined ? 'this user' : 'another time'
  return (
    <Text span>
      {count === 1 ? 'One delivery' : `${count.toLocaleString()} deliveries`} of {what} {count === 1 ? 'is' : 'are'}{' '}
      there, but the other filters hide {count === 1 ? 'it' : 'them'}.{' '}
      <Button variant="subtle" size="compact-sm" onClick={() => onChange(wanted)}>
        Show {count === 1 ? 'it' : 'them'}
      </Button>
    </Text>
  )
}

const withoutTimes = ({ since: _since, until: _until, ...rest }: DeliveryFilter): DeliveryFilter => rest

/** Whether such an event came in and was turned away: it has no status, and of those that were no name or type is asked for. */
function TurnedAway({ filter }: Pick<Props, 'filter'>) {
  const { messageId, userId, sourceId, since, until } = filter
  // An event that is looked for by its id is told of whatever else is filtered by.
  const wanted: TurnedAwayFilter =
    messageId !== undefined
      ? { messageId }
      : {
          ...(userId !== undefined && { userId }),
          ...(sourceId !== undefined && { sourceId }),
          ...(since !== undefined && { since }),
          ...(until !== undefined && { until }),
        }
  const isSuch = messageId !== undefined || Object.keys(filter).every((member) => member in wanted)
  const query = useInfiniteQuery({ ...turnedAwayQuery(wanted, 1), enabled: isSuch && Object.keys(wanted).length > 0 })
  const newest = query.data?.pages[0]?.items[0]
  if (newest === undefined)
    return messageId === undefined || query.data === undefined ? null : (
      <Text span>
        Nor is one with this message id among the events that were turned away within the last 24 hours; of many that
        came at once, only the newest are kept.
      </Text>
    )
  return (
    <Text span>
      {messageId === undefined ? 'The newest such event' : 'The event'} arrived but was not delivered to anyone.{' '}
      {whyTurnedAway(newest)}{' '}
      <Link to="/turned-away" search={wanted}>
        Look at it
      </Link>
    </Text>
  )
}

function Gone() {
  const retentionMs = useQuery(statusQuery).data?.retentionMs
  if (retentionMs === undefined) return null
  return (
    <Text span c="dimmed">
      Deliveries that ended more than {Math.round(retentionMs / 3_600_000)} hours ago are no longer kept.
    </Text>
  )
}

const NoneYet = () => (
  <EmptyState
    icon={<IconSend aria-hidden />}
    title="No delivery yet"
    action={
      <Group justify="center">
        <ButtonLink to="/sources">Open a source</ButtonLink>
        <ButtonLink to="/catalog" variant="default">
          Connect a destination
        </ButtonLink>
      </Group>
    }
  >
    Send an event with the snippet of a source that has a destination: it shows up here within a second.
  </EmptyState>
)
