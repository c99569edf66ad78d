import { Badge, Group, Stack, Table, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Destination } from '../../../../src/schemas/destination.ts'
import type { Rehearsal, RehearsedEvent, RehearsedOutcome } from '../../../../src/schemas/rehearsal.ts'
import { rehearsalQuery } from '../../api/destinations.ts'
import { CodeBlock } from '../../shared/copy.tsx'
import { Dialog } from '../../shared/dialog.tsx'
import { notTried } from '../../shared/form-errors.ts'
import { ShowButton } from '../../shared/show-button.tsx'
import { textColumn } from '../../shared/text-column.ts'
import { Ago } from '../../shared/time.tsx'

/** How long typing must pause before the draft is tried, in milliseconds. */
const typingPauseMs = 500

const outcomeLooks: Record<RehearsedOutcome, { label: string; color: string }> = {
  sent: { label: 'Sent', color: 'teal' },
  changed: { label: 'Changed', color: 'blue' },
  dropped: { label: 'Left out', color: 'gray' },
  failed: { label: 'Fails', color: 'red' },
}

interface Props {
  destinationId: string
  title: string
  /** As it is typed; null: none. The other of the two is as it is saved. */
  draft: Partial<Pick<Destination, 'filter' | 'mapping'>>
  /** Whether it is typed as JSON. */
  isJson: boolean
}

/** What a draft would have made of the newest events; follows as it is typed. Nothing is sent. */
export function RehearsalPanel({ destinationId, title, draft, isJson }: Props) {
  // As text: a draft that is typed anew but says the same is the same.
  const [text] = useDebouncedValue(JSON.stringify(draft), typingPauseMs)
  const query = useQuery({ ...rehearsalQuery(destinationId, text), placeholderData: keepPreviousData })
  return (
    <Stack gap="xs" component="section" aria-label={title}>
      <Text fw={600}>{title}</Text>
      <div aria-live="polite">
        <Text size="sm">{query.error !== null ? notTried(query.error, isJson) : summaryOf(query.data)}</Text>
      </div>
      {query.data !== undefined && query.data.items.length > 0 && <EventTable events={query.data.items} />}
    </Stack>
  )
}

function summaryOf(rehearsal: Rehearsal | undefined): string {
  if (rehearsal === undefined) return 'Reading the newest events …'
  const { tried, sent, changed, dropped, failed } = rehearsal
  if (tried === 0) return 'No event of its sources is recorded yet. Send one, and see here what becomes of it.'
  return [
    `Of the newest ${tried} ${tried === 1 ? 'event' : 'events'} of its sources it takes ${sent} and leaves out ${dropped}.`,
    ...(changed === 0 ? [] : [`${changed} of those that it takes ${changed === 1 ? 'is' : 'are'} changed.`]),
    ...(failed === 0 ? [] : [`${failed} would fail, for the mapping cannot be applied.`]),
    'Nothing was sent just now.',
  ].join(' ')
}

function EventTable({ events }: { events: RehearsedEvent[] }) {
  const [shown, setShown] = useState<RehearsedEvent>()
  return (
    <>
      <Table verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th {...textColumn}>Event</Table.Th>
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
                <ShowButton label={`Show the body of ${event.messageId}`} onClick={() => setShown(event)} />
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
        {shown !== undefined && <Bodies event={shown} />}
      </Dialog>
    </>
  )
}

/** The event as it came in, and where it is changed, as it would be sent. */
function Bodies({ event: { outcome, before, after } }: { event: RehearsedEvent }) {
  const body = <CodeBlock name="body" value={JSON.stringify(before, null, 2)} />
  if (outcome !== 'changed') return body
  return (
    <Stack gap="xs">
      <Text fw={600}>Before</Text>
      {body}
      <Text fw={600}>After</Text>
      <CodeBlock name="body after the mapping" value={JSON.stringify(after, null, 2)} />
    </Stack>
  )
}

const nameOf = ({ before }: RehearsedEvent): string => {
  const name = before['event'] ?? before['name']
  return typeof name === 'string' ? `${String(before['type'])} · ${name}` : String(before['type'])
}
