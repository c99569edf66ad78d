import { Code, ScrollArea, Table, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Audience, AudienceMember } from '../../../../src/schemas/audience.ts'
import { membersQuery } from '../../api/audiences.ts'
import { useIsDeleting } from '../../shared/delete-section.tsx'
import { LoadMore } from '../../shared/load-more.tsx'
import { QueryView } from '../../shared/query-view.tsx'

/** Pause in typing before a search, in milliseconds. */
const typingMs = 250

/** How often the first page is read again, in milliseconds: syncs change it. Further pages stay as they were read. */
const refreshMs = 2_000

/** Who is in it now, and which destinations know: endless, found by the beginning of the user id. */
export function Members({ audience }: { audience: Audience }) {
  const [typed, setTyped] = useState('')
  const [search] = useDebouncedValue(typed, typingMs)
  const isDeleting = useIsDeleting()
  const query = useInfiniteQuery({
    ...membersQuery(audience.id, search),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 1) === 1 && !isDeleting ? refreshMs : false),
  })
  return (
    <>
      <TextInput
        label="User id begins with"
        type="search"
        maw={320}
        value={typed}
        onChange={({ currentTarget }) => setTyped(currentTarget.value)}
      />
      <QueryView query={query}>
        {({ pages }) => (
          <MemberTable audience={audience} members={pages.flatMap(({ items }) => items)} search={search} />
        )}
      </QueryView>
      <LoadMore query={query} isAutomatic={false} />
    </>
  )
}

interface TableProps {
  audience: Audience
  members: AudienceMember[]
  search: string
}

function MemberTable({ audience: { kind, destinationIds }, members, search }: TableProps) {
  if (members.length === 0)
    return <Text c="dimmed">{search === '' ? 'It has no members yet.' : 'No member’s user id begins with this.'}</Text>
  return (
    <ScrollArea.Autosize mah={480} tabIndex={0} role="region" aria-label="Members">
      <Table verticalSpacing="xs" stickyHeader>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>User id</Table.Th>
            {kind === 'trait' && <Table.Th>Value</Table.Th>}
            <Table.Th visibleFrom="sm">Traits</Table.Th>
            <Table.Th>Sent to</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {members.map(({ userId, value, traits, acknowledgedBy }) => (
            <Table.Tr key={userId}>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>{userId}</Table.Td>
              {kind === 'trait' && (
                <Table.Td>
                  <Json value={value} />
                </Table.Td>
              )}
              <Table.Td visibleFrom="sm">{traits === null ? '–' : <Json value={traits} />}</Table.Td>
              <Table.Td>
                {acknowledgedBy.length} of {destinationIds.length}{' '}
                {destinationIds.length === 1 ? 'destination' : 'destinations'}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea.Autosize>
  )
}

const Json = ({ value }: { value: unknown }) => (
  <Code style={{ overflowWrap: 'anywhere' }}>{JSON.stringify(value)}</Code>
)
