import { Badge, Group, Table, Text } from '@mantine/core'
import { IconPlugConnected } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Fragment } from 'react'
import type { Activity } from '../../../../src/schemas/activity.ts'
import { destinationsQuery } from '../../api/destinations.ts'
import { sourcesQuery } from '../../api/sources.ts'
import { activityQuery } from '../../api/system.ts'
import { DestinationState } from '../../shared/destination-state.tsx'
import { EmptyState } from '../../shared/empty-state.tsx'
import { ButtonLink, Link } from '../../shared/link.tsx'
import { PageHeader } from '../../shared/page-header.tsx'
import { QueryView } from '../../shared/query-view.tsx'
import { textColumn } from '../../shared/text-column.ts'
import { Ago } from '../../shared/time.tsx'
import { useCanChange } from '../../shared/use-role.ts'
import { WorstBadge } from './endpoint-badge.tsx'

const refreshMs = 5_000

export function DestinationsPage() {
  const query = useQuery({ ...destinationsQuery, refetchInterval: refreshMs })
  const sources = useQuery(sourcesQuery).data ?? []
  const activity = useQuery(activityQuery).data
  const canChange = useCanChange()
  const nameOf = (id: string): string => sources.find((source) => source.id === id)?.name ?? id
  return (
    <>
      <PageHeader
        title="Destinations"
        description="Each sends the events of its sources to up to five HTTP endpoints."
        actions={canChange && <ButtonLink to="/catalog">Connect a destination</ButtonLink>}
      />
      <QueryView query={query}>
        {(destinations) =>
          destinations.length === 0 ? (
            <EmptyState
              icon={<IconPlugConnected aria-hidden />}
              title="No destination yet"
              action={canChange && <ButtonLink to="/catalog">Open the catalog</ButtonLink>}
            >
              {canChange
                ? 'Connect an HTTP endpoint from the catalog. It takes a URL and, if you like, a secret.'
                : 'Only administrators can connect one.'}
            </EmptyState>
          ) : (
            <Table.ScrollContainer minWidth={300}>
              <Table verticalSpacing="sm" highlightOnHover>
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th {...textColumn}>Name</Table.Th>
                    <Table.Th>State</Table.Th>
                    <Table.Th visibleFrom="sm">Requests for events in 24&nbsp;h</Table.Th>
                    <Table.Th visibleFrom="sm">Latest</Table.Th>
                    <Table.Th visibleFrom="sm" {...textColumn}>
                      Sources
                    </Table.Th>
                    <Table.Th visibleFrom="lg">Endpoints</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {destinations.map((destination) => (
                    <Table.Tr key={destination.id}>
                      <Table.Td>
                        <Link to="/destinations/$id" params={{ id: destination.id }} fw={600} dir="auto">
                          {destination.name}
                        </Link>
                        <Text size="xs" c="dimmed" hiddenFrom="sm">
                          {activity && requestsText(activityOf(destination.id, activity))}
                        </Text>
                      </Table.Td>
                      <Table.Td>
                        <Group gap={4}>
                          <DestinationState destination={destination} />
                          <WorstBadge endpoints={destination.endpoints} />
                        </Group>
                      </Table.Td>
                      <ActivityCells activity={activity && activityOf(destination.id, activity)} />
                      <Table.Td visibleFrom="sm">
                        {destination.sourceIds.length === 0 ? (
                          <Text size="sm" c="dimmed">
                            none
                          </Text>
                        ) : (
                          destination.sourceIds.map((id, index) => (
                            <Fragment key={id}>
                              {index > 0 && ', '}
                              <bdi>{nameOf(id)}</bdi>
                            </Fragment>
                          ))
                        )}
                      </Table.Td>
                      <Table.Td visibleFrom="lg">
                        {destination.settings.webhooks.map(({ id, url }) => (
                          <Text key={id} size="sm" style={{ overflowWrap: 'anywhere' }}>
                            {url}
                          </Text>
                        ))}
                        {destination.settings.webhooks.length === 0 && <Badge variant="default">no endpoint</Badge>}
                      </Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
            </Table.ScrollContainer>
          )
        }
      </QueryView>
    </>
  )
}

type ActivityOfDestination = Activity['destinations'][number]

/** A destination that got nothing is not among the figures. */
const activityOf = (destinationId: string, { destinations }: Activity): ActivityOfDestination =>
  destinations.find((destination) => destination.destinationId === destinationId) ?? {
    destinationId,
    delivered: 0,
    failed: 0,
    lastAttemptAt: null,
  }

/** The same in one line, for where there is no room for columns. */
const requestsText = ({ delivered, failed }: ActivityOfDestination): string =>
  `${(delivered + failed).toLocaleString()} requests for events in 24\u00a0h, ${failed.toLocaleString()} failed`

/** How many requests were made, how many of them failed, and when the latest was made; nothing as long as that is not known. */
function ActivityCells({ activity }: { activity: ActivityOfDestination | undefined }) {
  if (activity === undefined)
    return (
      <>
        <Table.Td visibleFrom="sm" />
        <Table.Td visibleFrom="sm" />
      </>
    )
  const { delivered, failed, lastAttemptAt } = activity
  return (
    <>
      <Table.Td visibleFrom="sm">
        {(delivered + failed).toLocaleString()}
        {failed > 0 && <Text size="sm">{failed.toLocaleString()} failed</Text>}
      </Table.Td>
      <Table.Td visibleFrom="sm">{lastAttemptAt === null ? '–' : <Ago at={lastAttemptAt} />}</Table.Td>
    </>
  )
}
