import { Code, ScrollArea, Table, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Audience, AudienceMember } from '../../../../src/schemas/audience.ts'
import { membersQuery } from '../../api/audiences.ts'
import { audienceDeliveriesQuery } from '../../api/deliveries.ts'
import { recovering } from '../../api/query-client.ts'
import { useIsDeleting } from '../../shared/delete-section.tsx'
import { Link } from '../../shared/link.tsx'
import { LoadMore } from '../../shared/load-more.tsx'
import { QueryView } from '../../shared/query-view.tsx'
import { textColumn } from '../../shared/text-column.ts'

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
    refetchInterval:
      !isDeleting && recovering(({ state }) => ((state.data?.pages.length ?? 1) === 1 ? refreshMs : false)),
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

function MemberTable({ audience: { id, kind, destinationIds }, members, search }: TableProps) {
  if (members.length === 0)
    return <Text c="dimmed">{search === '' ? 'It has no members yet.' : 'No member’s user id begins with this.'}</Text>
  return (
    <ScrollArea.Autosize mah={480} viewportProps={{ tabIndex: 0 }} role="region" aria-label="Members">
      <Table verticalSpacing="xs" stickyHeader>
        <Table.Thead>
          <Table.Tr>
            <Table.Th {...textColumn}>User id</Table.Th>
            {kind === 'trait' && <Table.Th>Value</Table.Th>}
            <Table.Th visibleFrom="sm">Traits</Table.Th>
            <Table.Th {...textColumn}>Taken by</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {members.map((member) => (
            <Table.Tr key={member.userId}>
              <Table.Td style={{ overflowWrap: 'anywhere' }} dir="auto">
                {member.userId}
              </Table.Td>
              {kind === 'trait' && (
                <Table.Td>
                  <Json value={member.value} />
                </Table.Td>
              )}
              <Table.Td visibleFrom="sm">{member.traits === null ? '–' : <Json value={member.traits} />}</Table.Td>
              <Table.Td>
                <TakenBy audienceId={id} member={member} destinations={destinationIds.length} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea.Autosize>
  )
}

interface TakenByProps {
  audienceId: string
  member: AudienceMember
  destinations: number
}

/** How many destinations took the call; one that failed has a delivery, which may have ended since. */
function TakenBy({ audienceId, member: { userId, acknowledgedBy, handedOn }, destinations }: TakenByProps) {
  const query = audienceDeliveriesQuery(audienceId)
  const { data: statuses } = useQuery({ ...query, enabled: handedOn.length > 0, refetchInterval: refreshMs })
  const open = handedOn.filter(({ deliveryId }) => statuses?.get(deliveryId) !== 'delivered')
  return (
    <>
      {acknowledgedBy.length + handedOn.length - open.length} of {destinations}{' '}
      {destinations === 1 ? 'destination' : 'destinations'}
      {open.length > 0 && (
        <>
          {', '}
          <Link size="sm" to="/deliveries" search={{ sourceId: audienceId, userId }}>
            {open.length === 1 ? '1 has a delivery of its own' : `${open.length} have deliveries of their own`}
          </Link>
        </>
      )}
    </>
  )
}

const Json = ({ value }: { value: unknown }) => (
  <Code style={{ overflowWrap: 'anywhere' }}>{JSON.stringify(value)}</Code>
)
