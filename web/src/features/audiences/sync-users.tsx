import { Button, Code, Group, ScrollArea, Select, Stack, Table, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Sync, SyncUser, SyncUserOutcome } from '../../../../src/schemas/audience.ts'
import { syncUsersQuery } from '../../api/audiences.ts'
import { recovering } from '../../api/query-client.ts'
import { Dialog } from '../../shared/dialog.tsx'
import { Link } from '../../shared/link.tsx'
import { LoadMore } from '../../shared/load-more.tsx'
import { useNames } from '../../shared/names.ts'
import { QueryView } from '../../shared/query-view.tsx'
import { textColumn } from '../../shared/text-column.ts'

/** Pause in typing before a search, in milliseconds. */
const typingMs = 250

/** How often the first page is read again while the sync runs, in milliseconds. */
const refreshMs = 2_000

const outcomeTexts: Record<SyncUserOutcome, string> = {
  open: 'Not called yet',
  sent: 'Taken',
  handed_on: 'Has a delivery of its own',
  failed: 'Failed',
  withheld: 'Not called any more',
}

const changeTexts: Record<SyncUser['change'], string> = {
  added: 'Added',
  removed: 'Removed',
  changed: 'New value',
  repeated: 'Sent again',
}

/** Opens the users of a sync that told somebody something. */
export function SyncUsersButton({ sync }: { sync: Sync }) {
  const [isOpen, setOpen] = useState(false)
  const { added, removed, sent, failed, handedOn, usersKept } = sync
  if (added + removed + sent + failed + handedOn === 0) return null
  if (!usersKept)
    return (
      <Text size="xs" c="dimmed">
        Its users are not kept any more
      </Text>
    )
  return (
    <>
      <Button size="compact-xs" variant="default" onClick={() => setOpen(true)}>
        Show its users
      </Button>
      <Dialog opened={isOpen} onClose={() => setOpen(false)} title="Users of this sync" size="xl">
        <SyncUsers sync={sync} />
      </Dialog>
    </>
  )
}

/** Whom it told what at which destination, and what became of it. */
function SyncUsers({ sync: { id, audienceId, status } }: { sync: Sync }) {
  const [typed, setTyped] = useState('')
  const [search] = useDebouncedValue(typed, typingMs)
  const [outcome, setOutcome] = useState<SyncUserOutcome | null>(null)
  const query = useInfiniteQuery({
    ...syncUsersQuery(audienceId, id, { search, ...(outcome !== null && { outcome }) }),
    placeholderData: keepPreviousData,
    refetchInterval: recovering(({ state }) =>
      status === 'running' && (state.data?.pages.length ?? 1) === 1 ? refreshMs : false,
    ),
  })
  return (
    <Stack>
      <Group gap="xs" role="search" aria-label="Filter users">
        <TextInput
          label="User id begins with"
          type="search"
          value={typed}
          onChange={({ currentTarget }) => setTyped(currentTarget.value)}
        />
        <Select
          label="Outcome"
          placeholder="All"
          clearable
          data={Object.entries(outcomeTexts).map(([value, label]) => ({ value, label }))}
          value={outcome}
          onChange={(value) => setOutcome(value as SyncUserOutcome | null)}
        />
      </Group>
      <QueryView query={query}>{({ pages }) => <UserTable users={pages.flatMap(({ items }) => items)} />}</QueryView>
      <LoadMore query={query} isAutomatic={false} />
    </Stack>
  )
}

function UserTable({ users }: { users: SyncUser[] }) {
  const named = useNames(users.flatMap(({ destinationId }) => destinationId ?? []))
  if (users.length === 0) return <Text c="dimmed">No user fits.</Text>
  return (
    <ScrollArea.Autosize mah={480} viewportProps={{ tabIndex: 0 }} role="region" aria-label="Users">
      <Table verticalSpacing="xs" stickyHeader>
        <Table.Thead>
          <Table.Tr>
            <Table.Th {...textColumn}>User id</Table.Th>
            <Table.Th>Change</Table.Th>
            <Table.Th {...textColumn}>Destination</Table.Th>
            <Table.Th {...textColumn}>Outcome</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {users.map(({ userId, destinationId, change, value, outcome, deliveryId }) => (
            <Table.Tr key={`${destinationId} ${userId}`} style={{ overflowWrap: 'anywhere' }}>
              <Table.Td dir="auto">{userId}</Table.Td>
              <Table.Td>
                {changeTexts[change]} {value !== null && <Code>{JSON.stringify(value)}</Code>}
              </Table.Td>
              <Table.Td dir="auto">{destinationId === null ? 'deleted' : named(destinationId).name}</Table.Td>
              <Table.Td>
                {deliveryId === null ? (
                  outcomeTexts[outcome]
                ) : (
                  <Link size="sm" to="/deliveries/$id" params={{ id: deliveryId }}>
                    {outcomeTexts[outcome]}
                  </Link>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea.Autosize>
  )
}
