import { Alert, Button, Stack, Text } from '@mantine/core'
import { IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import type { Destination, DestinationPatch, DestinationView } from '../../../../src/schemas/destination.ts'
import { deliveryCountQuery } from '../../api/deliveries.ts'
import { changeDestination, deleteDestination, destinationQuery } from '../../api/destinations.ts'
import { whileThere } from '../../api/query-client.ts'
import type { Tagged } from '../../api/request.ts'
import { CodeBlock } from '../../shared/copy.tsx'
import { DeleteSection } from '../../shared/delete-section.tsx'
import { DestinationState } from '../../shared/destination-state.tsx'
import { ButtonLink, Link } from '../../shared/link.tsx'
import { PageHeader } from '../../shared/page-header.tsx'
import { QueryView } from '../../shared/query-view.tsx'
import { Section } from '../../shared/section.tsx'
import { formatTime } from '../../shared/time.tsx'
import { useChange } from '../../shared/use-change.ts'
import { useLastError } from '../../shared/use-last-error.ts'
import { useCanChange } from '../../shared/use-role.ts'
import { DestinationFigures, RecentFailures } from './destination-figures.tsx'
import { EndpointStates } from './endpoint-states.tsx'
import { EndpointTestPanel } from './endpoint-test.tsx'
import { FilterSection } from './filter-section.tsx'
import { MappingSection } from './mapping-section.tsx'
import { PowerSwitch } from './power-switch.tsx'
import { SettingsForm } from './settings-form.tsx'
import { useWaiting } from './waiting-deliveries.ts'

/** How often the state of its endpoints is read, in milliseconds. */
const refreshMs = 3_000

export function DestinationPage() {
  const { id } = useParams({ from: '/shell/destinations/$id' })
  const query = useQuery({ ...destinationQuery(id), refetchInterval: whileThere(refreshMs) })
  return <QueryView query={query}>{(destination) => <DestinationDetails key={id} tagged={destination} />}</QueryView>
}

function DestinationDetails({ tagged }: { tagged: Tagged<DestinationView> }) {
  const destination = tagged.answer
  const canChange = useCanChange()
  return (
    <>
      <PageHeader
        title={destination.name}
        badge={<DestinationState destination={destination} />}
        actions={
          <>
            <ButtonLink to="/deliveries" search={{ destinationId: destination.id }} variant="default">
              Deliveries
            </ButtonLink>
            {canChange && <Steering destination={destination} />}
          </>
        }
      />
      <Stack gap="lg">
        <HeldNotice destination={destination} />
        <EndpointStates destination={destination} />
        <DestinationFigures destinationId={destination.id} />
        <RecentFailures destinationId={destination.id} />
        {canChange ? <SettingsForm destination={tagged} /> : <SettingsView destination={destination} />}
        {canChange ? <FilterSection destination={tagged} /> : <FilterView destination={destination} />}
        {canChange ? <MappingSection destination={tagged} /> : <MappingView destination={destination} />}
        {canChange && (
          <Section title="Test">
            <EndpointTestPanel destinationId={destination.id} />
          </Section>
        )}
        {canChange && (
          <DeleteSection
            noun="destination"
            name={destination.name}
            note="Deliveries that have not ended are discarded. To stop sending for a while, pause it instead."
            warning={<DeletionWarning destinationId={destination.id} />}
            remove={() => deleteDestination(destination.id)}
            stale={['destinations']}
            list="/destinations"
          />
        )}
      </Stack>
    </>
  )
}

/** What is lost with a destination, as it asks before that. */
function DeletionWarning({ destinationId }: { destinationId: string }) {
  const { text } = useWaiting(destinationId)
  return `${text} Deliveries that have not ended are discarded, and its settings and its secret are deleted for good.`
}

function Steering({ destination }: { destination: Destination }) {
  const { id, paused, held } = destination
  const change = useChange({
    change: (patch: DestinationPatch) => changeDestination(id, patch),
    stale: ['destinations', 'deliveries'],
  })
  return (
    <>
      <Button
        variant="default"
        loading={change.isPending}
        leftSection={paused ? <IconPlayerPlay size={16} aria-hidden /> : <IconPlayerPause size={16} aria-hidden />}
        onClick={() => change.mutate({ paused: !paused })}
      >
        {paused ? 'Resume' : 'Pause'}
      </Button>
      {held !== null && (
        <Button variant="default" loading={change.isPending} onClick={() => change.mutate({ paused: true })}>
          Keep paused
        </Button>
      )}
      <PowerSwitch destination={destination} />
    </>
  )
}

/** A paused destination keeps its deliveries, unless it is off as well; says how many. */
function HeldNotice({ destination: { id, enabled, paused, held } }: { destination: Destination }) {
  const holds = paused && enabled
  const count = useQuery({
    ...deliveryCountQuery({ status: 'held', destinationId: id }),
    enabled: holds,
    refetchInterval: 5_000,
  })
  const error = useLastError(count)
  if (!holds) return null
  return (
    <Alert
      color="yellow"
      icon={<IconPlayerPause aria-hidden />}
      title={held === null ? 'Paused: deliveries wait, none is lost' : 'Held: deliveries wait, none is lost'}
    >
      {held !== null && (
        <Text size="sm">
          Every endpoint fails, since {formatTime(held.failingSince)}. It is probed now and then, and goes on by itself
          when one answers.
        </Text>
      )}
      {error !== null ? (
        'They cannot be counted now.'
      ) : count.data === undefined ? (
        'Counting the deliveries that wait …'
      ) : (
        <Link to="/deliveries" search={{ destinationId: id, status: 'held' }}>
          {count.data.count.toLocaleString()} {count.data.count === 1 ? 'delivery waits' : 'deliveries wait'} for it.
        </Link>
      )}
    </Alert>
  )
}

/** Which events it takes, for a viewer. */
function FilterView({ destination: { filter } }: { destination: Destination }) {
  return (
    <Section title="Filter">
      {filter === null ? (
        <Text size="sm">It takes all events of its sources.</Text>
      ) : (
        <CodeBlock name="filter" value={JSON.stringify(filter, null, 2)} />
      )}
    </Section>
  )
}

/** What becomes of events, for a viewer. */
function MappingView({ destination: { mapping } }: { destination: Destination }) {
  return (
    <Section title="Mapping">
      {mapping === null ? (
        <Text size="sm">Events are sent as they came in.</Text>
      ) : (
        <CodeBlock name="mapping" value={JSON.stringify(mapping, null, 2)} />
      )}
    </Section>
  )
}

/** What a viewer may see. */
function SettingsView({ destination: { settings } }: { destination: Destination }) {
  return (
    <Section title="Settings">
      <Stack gap="xs">
        {settings.webhooks.map(({ id, url, headers }) => (
          <div key={id}>
            <Text style={{ overflowWrap: 'anywhere' }}>{url}</Text>
            <Text size="sm" c="dimmed">
              {Object.keys(headers).length === 0
                ? 'No headers of its own'
                : `Headers: ${Object.keys(headers).join(', ')}`}
            </Text>
          </div>
        ))}
        <Text size="sm">{settings.hasSharedSecret ? 'Requests are signed.' : 'Requests are not signed.'}</Text>
      </Stack>
    </Section>
  )
}
