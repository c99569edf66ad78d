import { Alert, Badge, Group, Stack, Switch, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import type { Source, SourcePatch } from '../../../../src/schemas/source.ts'
import { destinationsQuery } from '../../api/destinations.ts'
import { changeSource, deleteSource, sourceQuery } from '../../api/sources.ts'
import type { Tagged } from '../../api/request.ts'
import { DeleteSection } from '../../shared/delete-section.tsx'
import { DestinationState } from '../../shared/destination-state.tsx'
import { ButtonLink, Link } from '../../shared/link.tsx'
import { PageHeader } from '../../shared/page-header.tsx'
import { QueryView } from '../../shared/query-view.tsx'
import { Section } from '../../shared/section.tsx'
import { useChange } from '../../shared/use-change.ts'
import { useCanChange } from '../../shared/use-role.ts'
import { LiveEvents } from './live-events.tsx'
import { RenameSource } from './rename-source.tsx'
import { Snippets } from './snippets.tsx'
import { WriteKey } from './write-key.tsx'

/** How often it is read again which of the destinations are on. */
const refreshMs = 5_000

export function SourcePage() {
  const { id } = useParams({ from: '/shell/sources/$id' })
  const query = useQuery(sourceQuery(id))
  return <QueryView query={query}>{(source) => <SourceView key={id} tagged={source} />}</QueryView>
}

function SourceView({ tagged }: { tagged: Tagged<Source> }) {
  const source = tagged.answer
  const canChange = useCanChange()
  const change = useChange({ change: (patch: SourcePatch) => changeSource(source.id, patch), stale: ['sources'] })
  const turn = (): void => (change.isPending ? undefined : change.mutate({ enabled: !source.enabled }))
  return (
    <>
      <PageHeader
        title={source.name}
        badge={
          source.enabled ? (
            <Badge color="teal" variant="light">
              On
            </Badge>
          ) : (
            <Badge variant="default">Off</Badge>
          )
        }
        actions={
          <>
            <ButtonLink to="/deliveries" search={{ sourceId: source.id }} variant="default">
              Deliveries
            </ButtonLink>
            {canChange && (
              <Switch
                label={source.enabled ? 'On' : 'Off'}
                checked={source.enabled}
                // Not disabled while it is busy: it would lose the focus.
                aria-disabled={change.isPending}
                onChange={turn}
              />
            )}
          </>
        }
      />
      <Stack gap="lg">
        {!source.enabled && (
          <Alert color="yellow" title="Switched off">
            Events with this write key are rejected. Switch the source on to accept them again.
          </Alert>
        )}
        <WriteKey source={source} canChange={canChange} />
        <Section title="Live events">
          <LiveEvents sourceId={source.id} isOn={source.enabled} />
        </Section>
        <Section title="Send events">
          <Snippets writeKey={canChange ? source.writeKey : 'YOUR_WRITE_KEY'} />
        </Section>
        <ConnectedDestinations sourceId={source.id} />
        {canChange && <RenameSource current={tagged} />}
        {canChange && (
          <DeleteSection
            noun="source"
            name={source.name}
            note="Its write key stops working for good. To stop accepting events for a while, switch it off instead."
            warning="Events with its write key are rejected from then on. This cannot be undone."
            remove={() => deleteSource(source.id)}
            stale={['sources']}
            list="/sources"
          />
        )}
      </Stack>
    </>
  )
}

function ConnectedDestinations({ sourceId }: { sourceId: string }) {
  const query = useQuery({ ...destinationsQuery, refetchInterval: refreshMs })
  return (
    <Section title="Destinations">
      <QueryView query={query}>
        {(destinations) => {
          const connected = destinations.filter(({ sourceIds }) => sourceIds.includes(sourceId))
          if (connected.length === 0)
            return (
              <Text size="sm">
                None: events are not sent anywhere. <Link to="/catalog">Connect a destination</Link>
              </Text>
            )
          return (
            <Stack gap={4}>
              {connected.map((destination) => (
                <Group key={destination.id} gap="xs">
                  <Link
                    to="/destinations/$id"
                    params={{ id: destination.id }}
                    style={{ overflowWrap: 'anywhere' }}
                    dir="auto"
                  >
                    {destination.name}
                  </Link>
                  <DestinationState destination={destination} />
                </Group>
              ))}
            </Stack>
          )
        }}
      </QueryView>
    </Section>
  )
}
