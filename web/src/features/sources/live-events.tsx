import { Badge, Button, Group, Select, Stack, Table, Text, TextInput } from '@mantine/core'
import { IconPlayerPause, IconPlayerPlay, IconSearch } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { statusQuery } from '../../api/system.ts'
import { Dialog } from '../../shared/dialog.tsx'
import { ErrorNotice } from '../../shared/error-notice.tsx'
import { AcceptedBody, TurnedAwayBody } from '../../shared/event-body.tsx'
import { fateLooks } from '../../shared/fates.ts'
import { Link } from '../../shared/link.tsx'
import { refusalText } from '../../shared/refusals.ts'
import { textColumn } from '../../shared/text-column.ts'
import { formatClock, formatTime, zoneName } from '../../shared/time.tsx'
import { useConnection } from '../../shared/use-connection.ts'
import { visibleName } from '../../shared/visible-name.ts'
import { streamPlaces, useStreamPlace } from './use-stream-place.ts'
import { maxLiveEvents, useLiveEvents, type LiveEventRow } from './use-live-events.ts'

const fateChoices = Object.entries(fateLooks).map(([value, { label }]) => ({ value, label }))

/** Every event of the source as it comes in, with what became of it. */
export function LiveEvents({ sourceId, isOn }: { sourceId: string; isOn: boolean }) {
  const [isPaused, setPaused] = useState(false)
  const [search, setSearch] = useState('')
  const [fate, setFate] = useState<string | null>(null)
  const [opened, setOpened] = useState<LiveEventRow>()
  const [isCrowdedOut, setCrowdedOut] = useState(false)
  const { events, received, missed, isConnected, refusal, clear } = useLiveEvents(sourceId, isPaused)
  useStreamPlace(!isPaused, () => {
    setPaused(true)
    setCrowdedOut(true)
  })
  const { isLost } = useConnection()
  // A stream whose server hangs stays open.
  const isLive = isConnected && !isLost
  // Only nodes that share a PostgreSQL can be several.
  const mayBeSeveral = useQuery(statusQuery).data?.database.kind === 'postgresql'
  const wanted = search.trim().toLowerCase()
  const shown = events.filter(
    (event) =>
      (fate === null || event.fate === fate) &&
      [event.type, event.event, event.userId, event.messageId].some(
        (text) => text?.toLowerCase().includes(wanted) === true || wanted === '',
      ),
  )
  return (
    <Stack>
      <Group justify="space-between">
        <Group gap="xs">
          <TextInput
            aria-label="Filter live events"
            placeholder="Event, user or message id"
            leftSection={<IconSearch size={16} aria-hidden />}
            value={search}
            onChange={({ currentTarget }) => setSearch(currentTarget.value)}
            w={260}
          />
          <Select
            aria-label="What became of it"
            placeholder="Any result"
            data={fateChoices}
            value={fate}
            onChange={setFate}
            clearable
            w={170}
          />
        </Group>
        <Group gap="xs">
          <Badge variant="dot" color={isLive ? 'teal' : 'gray'} role="status">
            {isPaused ? 'Paused' : isLive ? 'Live' : 'Connecting'}
          </Badge>
          <Button
            variant="default"
            size="xs"
            leftSection={
              isPaused ? <IconPlayerPlay size={14} aria-hidden /> : <IconPlayerPause size={14} aria-hidden />
            }
            onClick={() => {
              setPaused(!isPaused)
              setCrowdedOut(false)
            }}
          >
            {isPaused ? 'Resume' : 'Pause'}
          </Button>
          <Button variant="default" size="xs" disabled={events.length === 0} onClick={clear}>
            Clear
          </Button>
        </Group>
      </Group>
      {refusal !== undefined && !isConnected && !isPaused && (
        <ErrorNotice isReading error={refusal} title="No live events now" />
      )}
      {isCrowdedOut && (
        <Text size="sm">
          Paused: {streamPlaces} tabs that were opened later show live events, and a browser has only a few connections
          to one server. What came in meanwhile is in the deliveries, or under “Turned away”.
        </Text>
      )}
      {shown.length === 0 ? (
        <Text c="dimmed" ta="center" py="xl">
          {events.length > 0 ? 'No event matches the filter.' : whyNone({ isPaused, isLive, isOn })}
        </Text>
      ) : (
        <Table.ScrollContainer minWidth={320} maxHeight={420} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
          <Table stickyHeader verticalSpacing={6}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Time ({zoneName()})</Table.Th>
                <Table.Th {...textColumn}>Event</Table.Th>
                <Table.Th visibleFrom="sm" {...textColumn}>
                  User
                </Table.Th>
                <Table.Th>What became of it</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {shown.map((event) => (
                <EventRow key={event.number} event={event} onShow={() => setOpened(event)} />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      <Dialog
        opened={opened !== undefined}
        onClose={() => setOpened(undefined)}
        title={visibleName(opened?.event) ?? opened?.type ?? 'An event'}
        size="lg"
      >
        {opened?.deliveryId !== undefined && <AcceptedBody deliveryId={opened.deliveryId} />}
        {opened?.turnedAwayId !== undefined && <TurnedAwayBody id={opened.turnedAwayId} />}
      </Dialog>
      <Text size="xs" c="dimmed">
        {received} came in while this page listened; it shows at most the last {maxLiveEvents}.
        {missed > 0 && ` ${missed} came too quickly to be shown.`}
        {mayBeSeveral && ' Where several nodes take events, these are the ones that came to the node behind this page.'}
      </Text>
    </Stack>
  )
}

function whyNone({ isPaused, isLive, isOn }: { isPaused: boolean; isLive: boolean; isOn: boolean }): string {
  if (isPaused) return 'Paused: resume to see what comes in.'
  if (!isOn) return 'The source is off: what comes in is rejected.'
  if (!isLive) return 'Connecting: what comes in meanwhile is not shown here.'
  return 'Waiting for events. Send one with a snippet below.'
}

function EventRow({ event: shown, onShow }: { event: LiveEventRow; onShow: () => void }) {
  const { at, type, event, userId, messageId, fate, reason, deliveryId } = shown
  const { label, color } = fateLooks[fate]
  return (
    <Table.Tr>
      <Table.Td>
        <time dateTime={at} title={formatTime(at)}>
          {formatClock(at)}
        </time>
      </Table.Td>
      <Table.Td style={{ overflowWrap: 'anywhere' }} dir="auto">
        {type ?? 'Unreadable'}
        {event !== null && ` · ${event}`}
      </Table.Td>
      <Table.Td visibleFrom="sm" style={{ overflowWrap: 'anywhere' }} dir="auto">
        {userId ?? '–'}
      </Table.Td>
      <Table.Td>
        <Group gap={6}>
          <Badge color={color} variant="light">
            {label}
          </Badge>
          {deliveryId !== undefined && (
            <Link size="sm" to="/deliveries/$id" params={{ id: deliveryId }}>
              Delivery
            </Link>
          )}
          <Button
            variant="subtle"
            size="compact-xs"
            aria-label={`Show the body of ${messageId ?? type ?? 'an event'}`}
            onClick={onShow}
          >
            Body
          </Button>
        </Group>
        {reason !== undefined && (
          <Text size="xs" c="dimmed">
            {refusalText(reason)}
          </Text>
        )}
      </Table.Td>
    </Table.Tr>
  )
}
