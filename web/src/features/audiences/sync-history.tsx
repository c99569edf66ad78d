import { Alert, Badge, Button, Group, Stack, Table, Text } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { Audience, Sync } from '../../../../src/schemas/audience.ts'
import { steerSync, syncsQuery } from '../../api/audiences.ts'
import { destinationsQuery } from '../../api/destinations.ts'
import { recovering } from '../../api/query-client.ts'
import { confirm } from '../../shared/confirm.tsx'
import { useIsDeleting } from '../../shared/delete-section.tsx'
import { Link } from '../../shared/link.tsx'
import { LoadMore } from '../../shared/load-more.tsx'
import { QueryView } from '../../shared/query-view.tsx'
import { textColumn } from '../../shared/text-column.ts'
import { Ago } from '../../shared/time.tsx'
import { useChange } from '../../shared/use-change.ts'
import { useCanChange } from '../../shared/use-role.ts'
import { SyncUsersButton } from './sync-users.tsx'

const colors: Record<Sync['status'], string> = {
  running: 'blue',
  completed: 'teal',
  failed: 'red',
  refused: 'yellow',
  stopped: 'gray',
}

const labels: Record<Sync['status'], string> = {
  running: 'Running',
  completed: 'Completed',
  failed: 'Failed',
  refused: 'Refused',
  stopped: 'Stopped',
}

const kinds: Record<Sync['kind'], string> = {
  upload: 'upload',
  change: 'change of members',
  sync: 'sync',
  resync: 'every member sent again',
  undo: 'undo',
  delete: 'removal of all members',
}

const phases: Record<Sync['phase'], string> = {
  waiting: 'waiting',
  loading: 'reading members',
  comparing: 'comparing members',
  sending: 'sending',
  ended: 'ending',
}

const liveMs = 2_000

/** Past syncs and the one that runs, newest first. */
export function SyncHistory({ audience }: { audience: Audience }) {
  const audienceId = audience.id
  const isDeleting = useIsDeleting()
  const query = useInfiniteQuery({
    ...syncsQuery(audienceId),
    refetchInterval: !isDeleting && recovering(({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : liveMs)),
  })
  return (
    <>
      <QueryView query={query}>
        {({ pages }) => <SyncTable syncs={pages.flatMap(({ items }) => items)} audience={audience} />}
      </QueryView>
      <LoadMore query={query} />
    </>
  )
}

function SyncTable({ syncs, audience: { membership, destinationIds } }: { syncs: Sync[]; audience: Audience }) {
  const canChange = useCanChange()
  const start = membership.kind === 'push' ? 'Upload members' : 'Press “Sync now”'
  if (syncs.length === 0) return <Text c="dimmed">None yet.{canChange && ` ${start} to begin the first one.`}</Text>
  return (
    <Table verticalSpacing="xs">
      <Table.Thead>
        <Table.Tr>
          <Table.Th {...textColumn}>Sync</Table.Th>
          <Table.Th miw={100}>Users</Table.Th>
          <Table.Th visibleFrom="sm" {...textColumn}>
            Calls
          </Table.Th>
          <Table.Th visibleFrom="sm">Requested</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {syncs.map((sync, index) => (
          <SyncRow
            key={sync.id}
            sync={sync}
            destinationIds={destinationIds}
            isLatest={syncs.slice(0, index).every(({ status }) => status === 'stopped')}
          />
        ))}
      </Table.Tbody>
    </Table>
  )
}

interface RowProps {
  sync: Sync
  /** Of its audience. */
  destinationIds: string[]
  /** Whether no other one came after it that was not stopped: only then can a refused one be confirmed. */
  isLatest: boolean
}

function SyncRow({ sync, destinationIds, isLatest }: RowProps) {
  const { audienceId, kind, status, phase, added, removed, unchanged, sent, failed, handedOn, requestedAt, reason } =
    sync
  const withNames = useDestinationNames()
  return (
    <Table.Tr>
      <Table.Td>
        <Stack gap={4} align="flex-start">
          <Group gap={6}>
            <Badge color={colors[status]} variant="light">
              {labels[status]}
            </Badge>
            <Text size="sm">
              {kinds[kind]}
              {status === 'running' && `, ${phases[phase]}`}
            </Text>
          </Group>
          <Text size="xs" c="dimmed" hiddenFrom="sm" component="div">
            <Ago at={requestedAt} />; calls: {sent.toLocaleString()}
            {failed > 0 && `, failed: ${failed.toLocaleString()}`}
          </Text>
          {reason !== null && (
            <Text size="xs" c="dimmed">
              {withNames(reason)}
            </Text>
          )}
          {status === 'running' && phase === 'sending' && <PausedDestinations among={destinationIds} />}
          <LeftOutRows sync={sync} />
          <Group gap={6}>
            <SyncUsersButton sync={sync} />
            <SyncActions sync={sync} isLatest={isLatest} />
          </Group>
        </Stack>
      </Table.Td>
      <Table.Td>
        <Text size="sm">+{added.toLocaleString()}</Text>
        <Text size="sm">−{removed.toLocaleString()}</Text>
        <Text size="xs" c="dimmed">
          {unchanged.toLocaleString()} unchanged
        </Text>
      </Table.Td>
      <Table.Td visibleFrom="sm">
        <Text size="sm">{sent.toLocaleString()} sent</Text>
        {handedOn > 0 && (
          <Link size="sm" to="/deliveries" search={{ sourceId: audienceId, since: requestedAt }}>
            {handedOn.toLocaleString()} retried as deliveries
          </Link>
        )}
        {failed > 0 && <Text size="sm">{failed.toLocaleString()} failed</Text>}
      </Table.Td>
      <Table.Td visibleFrom="sm">
        <Ago at={requestedAt} />
      </Table.Td>
    </Table.Tr>
  )
}

/** Destinations that hold a sync, which does not end before they are resumed or switched off. */
function PausedDestinations({ among }: { among: string[] }) {
  const destinations = useQuery(destinationsQuery).data ?? []
  const names = destinations
    .filter(({ id, enabled, paused }) => among.includes(id) && enabled && paused)
    .map(({ name }) => name)
  if (names.length === 0) return null
  return (
    <Text size="xs" style={{ overflowWrap: 'anywhere' }}>
      Calls to paused destinations wait until these are resumed: {names.join(', ')}
    </Text>
  )
}

/** Rows that are not in the audience, although the sync went on without them. */
function LeftOutRows({ sync: { status, badRows, rowsRead, badRowSample } }: Pick<RowProps, 'sync'>) {
  const [first] = badRowSample
  // The reason of one that failed says so.
  if (badRows === 0 || status === 'failed') return null
  return (
    <Text size="xs">
      {badRows.toLocaleString()} of {rowsRead.toLocaleString()} rows could not be read as members
      {first !== undefined && `, the first in line ${first.line}: ${first.reason}`}
    </Text>
  )
}

/** Puts the names of destinations into a text in the place of their ids. */
function useDestinationNames(): (text: string) => string {
  const destinations = useQuery(destinationsQuery).data ?? []
  return (text) =>
    text.replace(/dst_[0-9a-f]+/g, (wanted) => destinations.find(({ id }) => id === wanted)?.name ?? wanted)
}

function SyncActions({ sync: { id, audienceId, status, undoable }, isLatest }: Pick<RowProps, 'sync' | 'isLatest'>) {
  const canChange = useCanChange()
  const steer = useChange({
    change: (action: 'confirm' | 'stop' | 'undo') => steerSync(audienceId, id, action),
    stale: ['audiences'],
  })
  if (!canChange) return null
  if (status === 'running')
    return (
      <Button size="compact-xs" variant="default" loading={steer.isPending} onClick={() => steer.mutate('stop')}>
        Stop
      </Button>
    )
  if (status === 'refused' && !isLatest)
    return <Text size="xs">Another sync came after it: sync again if this is still to be done.</Text>
  if (status === 'refused')
    return (
      <Alert color="yellow" p="xs">
        <Button size="compact-xs" variant="default" loading={steer.isPending} onClick={() => steer.mutate('confirm')}>
          Confirm and continue
        </Button>
      </Alert>
    )
  if (!undoable) return null
  return (
    <Button
      size="compact-xs"
      variant="subtle"
      loading={steer.isPending}
      onClick={() =>
        confirm({
          title: 'Undo this sync?',
          text: 'Destinations get the opposite: users who were added are removed, and users who were removed are added.',
          yes: 'Undo the sync',
          onYes: () => steer.mutate('undo'),
        })
      }
    >
      Undo
    </Button>
  )
}
