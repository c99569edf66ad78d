import { Badge, Box, Button, Table, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconUserX } from '@tabler/icons-react'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { DeletionRequest } from '../../../../src/schemas/deletion-request.ts'
import { deletionRequestsQuery } from '../../api/deletion-requests.ts'
import { recovering } from '../../api/query-client.ts'
import { sourcesQuery } from '../../api/sources.ts'
import { Dialog } from '../../shared/dialog.tsx'
import { EmptyState } from '../../shared/empty-state.tsx'
import { Link } from '../../shared/link.tsx'
import { LoadMore } from '../../shared/load-more.tsx'
import { PageHeader } from '../../shared/page-header.tsx'
import { QueryView } from '../../shared/query-view.tsx'
import { textColumn } from '../../shared/text-column.ts'
import { Ago } from '../../shared/time.tsx'
import { useCanChange } from '../../shared/use-role.ts'
import { LiftSuppressions } from './lift-suppressions.tsx'
import { NewRequest } from './new-request.tsx'

const refreshMs = 3_000

/** How far a request is: completed once nobody can read its users' events any more, not when its last notification started. */
function progressOf({ status, erasedAt }: DeletionRequest): { label: string; color: string } {
  if (erasedAt !== null) return { label: 'Completed', color: 'teal' }
  if (status === 'completed') return { label: 'Started', color: 'blue' }
  return status === 'waiting' ? { label: 'Waiting', color: 'gray' } : { label: 'Starting', color: 'blue' }
}

/** Requests to delete users, and how far each is. */
export function DeletionRequestsPage() {
  const canChange = useCanChange()
  const [isOpen, { open, close }] = useDisclosure()
  const [isLifting, lifting] = useDisclosure()
  const query = useInfiniteQuery({
    ...deletionRequestsQuery,
    refetchInterval: recovering(({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : refreshMs)),
  })
  const create = canChange && <Button onClick={open}>Request a deletion</Button>
  return (
    <>
      <PageHeader
        title="Deletion requests"
        description="Users to be deleted. Each destination is told once per user and source; the user ids are forgotten once that is done, and when the last notification has ended, nobody can read the users' events any more."
        actions={
          canChange && (
            <>
              <Button variant="default" onClick={lifting.open}>
                Lift suppressions
              </Button>
              {create}
            </>
          )
        }
      />
      <QueryView query={query}>
        {({ pages }) => {
          const requests = pages.flatMap(({ items }) => items)
          if (requests.length > 0) return <RequestTable requests={requests} />
          return (
            <EmptyState icon={<IconUserX aria-hidden />} title="No deletion request yet" action={create}>
              A request cancels the deliveries of its users that wait, and tells destinations to delete these users.
            </EmptyState>
          )
        }}
      </QueryView>
      <LoadMore query={query} />
      <Dialog opened={isOpen} onClose={close} title="Request a deletion">
        <NewRequest onDone={close} />
      </Dialog>
      <Dialog opened={isLifting} onClose={lifting.close} title="Lift suppressions">
        <LiftSuppressions onDone={lifting.close} />
      </Dialog>
    </>
  )
}

function RequestTable({ requests }: { requests: DeletionRequest[] }) {
  const sources = useQuery(sourcesQuery).data ?? []
  return (
    <Table verticalSpacing="xs">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Requested</Table.Th>
          <Table.Th>Status</Table.Th>
          <Table.Th miw={{ base: 120, sm: 0 }}>Users</Table.Th>
          <Table.Th visibleFrom="sm">Notifications</Table.Th>
          <Table.Th visibleFrom="sm">Cancelled deliveries</Table.Th>
          <Table.Th visibleFrom="sm">Erased</Table.Th>
          <Table.Th visibleFrom="lg" {...textColumn}>
            Sources
          </Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {requests.map((request) => (
          <Table.Tr key={request.id}>
            <Table.Td>
              <Ago at={request.createdAt} />
              {request.suppress && (
                <Text size="xs" c="dimmed">
                  later events were to be dropped
                </Text>
              )}
            </Table.Td>
            <Table.Td>
              <Badge color={progressOf(request).color} variant="light">
                {progressOf(request).label}
              </Badge>
              {request.erasedAt !== null && (
                <Box hiddenFrom="sm">
                  <Erased request={request} />
                </Box>
              )}
            </Table.Td>
            <Table.Td>
              {request.users.toLocaleString()}
              <Text size="xs" c="dimmed" hiddenFrom="sm">
                {(request.started + request.skipped).toLocaleString()} of {request.notifications.toLocaleString()}{' '}
                notifications started
              </Text>
            </Table.Td>
            <Table.Td visibleFrom="sm">
              {(request.started + request.skipped).toLocaleString()} of {request.notifications.toLocaleString()} started
              {request.skipped > 0 && (
                <Text size="xs" c="dimmed">
                  {request.skipped.toLocaleString()} without a destination
                </Text>
              )}
            </Table.Td>
            <Table.Td visibleFrom="sm">{request.cancelled.toLocaleString()}</Table.Td>
            <Table.Td visibleFrom="sm">
              <Erased request={request} />
            </Table.Td>
            <Table.Td visibleFrom="lg">
              {request.sourceIds.map((id) => (
                <Link key={id} to="/sources/$id" params={{ id }} mr="xs" dir="auto">
                  {sources.find((source) => source.id === id)?.name ?? id}
                </Link>
              ))}
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}

/** When the keys of its users were destroyed, and what nobody can read since. */
function Erased({ request: { erasedAt, deliveries, keys } }: { request: DeletionRequest }) {
  if (erasedAt === null) return 'not yet'
  return (
    <>
      <Ago at={erasedAt} />
      <Text size="xs" c="dimmed">
        {deliveries.toLocaleString()} {deliveries === 1 ? 'delivery' : 'deliveries'}, {keys.toLocaleString()}{' '}
        {keys === 1 ? 'key' : 'keys'}
      </Text>
    </>
  )
}
