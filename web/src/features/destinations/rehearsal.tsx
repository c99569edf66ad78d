import { Badge, Button, Group, Stack, Table, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Filter } from '../../../../src/schemas/filter.ts'
import type { Rehearsal, RehearsedEvent, RehearsedOutcome } from '../../../../src/schemas/rehearsal.ts'
import { rehearsalQuery } from '../../api/destinations.ts'
import { CodeBlock } from '../../shared/copy.tsx'
import { Dialog } from '../../shared/dialog.tsx'
import { explain } from '../../shared/error-notice.tsx'
import { Ago } from '../../shared/time.tsx'

/** How long typing must pause before the draft is tried, in milliseconds. */
const typingPauseMs = 500

const outcomeLooks: Record<RehearsedOutcome, { label: string; color: string }> = {
  sent: { label: 'Sent', color: 'teal' },
  dropped: { label: 'Left out', color: 'gray' },
}

interface Props {
  destinationId: string
  /** As it is typed; null: none. */
  filter: Filter | null
}

/** What a draft would have made of the newest events; follows as it is typed. Nothing is sent. */
export function RehearsalPanel({ destinationId, filter }: Props) {
  // As text: a draft that is typed anew but says the same is the same.
  const [draft] = useDebouncedValue(JSON.stringify(filter), typingPauseMs)
  const query = useQuery({ ...rehearsalQuery(destinationId, draft), placeholderData: keepPreviousData })
  return (
    <Stack gap="xs" component="section" aria-label="Tried on the newest events">
      <Text fw={600}>Tried on the newest events</Text>
      <div aria-live="polite">
        <Text size="sm">{query.error !== null ? `Not tried yet. ${explain(query.error)}` : summaryOf(query.data)}</Text>
      </div>
      {query.data !== undefined && query.data.items.length > 0 && <EventTable events={query.data.items} />}
    </Stack>
  )
}

function summaryOf(rehearsal: Rehearsal | undefined): string {
  if (rehearsal === undefined) return 'Reading the newest events …'
  const { tried, sent, dropped } = rehearsal
  return tried === 0
    ? 'No event of its sources is recorded yet. Send one, and see here what becomes of it.'
    : `Of the newest ${tried} ${tried === 1 ? 'event' : 'events'} of its sources it takes ${sent} and leaves out ${dropped}. Nothing was sent just now.`
}

function EventTable({ events }: { events: RehearsedEvent[] }) {
  const [shown, setShown] = useState<RehearsedEvent>()
  return (
    <>
      <Table verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Event</Table.Th>
            <Table.Th>What would become of it</Table.Th>
            <Table.Th visibleFrom="sm">Came in</Table.Th>
            <Table.Th>Body</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {events.map((event) => (
            <Table.Tr key={`${event.sourceId}/${event.messageId}`}>
              <Table.Td style={{ overflowWrap: 'anywhere' }} dir="auto">
                {nameOf(event)}
              </Table.Td>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>
                <Group gap="xs">
                  <Badge color={outcomeLooks[event.outcome].color} variant="light">
                    {outcomeLooks[event.outcome].label}
                  </Badge>
                  {event.reason !== null && (
                    <Text size="xs" c="dimmed">
                      {event.reason}
                    </Text>
                  )}
                </Group>
              </Table.Td>
              <Table.Td visibleFrom="sm">
                <Ago at={event.at} />
              </Table.Td>
              <Table.Td>
                <Button
                  variant="default"
                  size="compact-sm"
                  aria-label={`Show the body of ${event.messageId}`}
                  onClick={() => setShown(event)}
                >
                  Show
                </Button>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Dialog
        opened={shown !== undefined}
        onClose={() => setShown(undefined)}
        title={shown === undefined ? '' : nameOf(shown)}
        size="lg"
      >
        {shown !== undefined && <CodeBlock name="body" value={JSON.stringify(shown.before, null, 2)} />}
      </Dialog>
    </>
  )
}

const nameOf = ({ before }: RehearsedEvent): string => {
  const name = before['event'] ?? before['name']
  return typeof name === 'string' ? `${String(before['type'])} · ${name}` : String(before['type'])
}
