import { Button, Group, Stack, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { AlertChannel } from '../../../../src/schemas/alert.ts'
import { alertChannelsQuery, deleteAlertChannel, testAlertChannel } from '../../api/alerts.ts'
import { confirm } from '../../shared/confirm.tsx'
import { QueryView } from '../../shared/query-view.tsx'
import { Section } from '../../shared/section.tsx'
import { Ago } from '../../shared/time.tsx'
import { useChange } from '../../shared/use-change.ts'
import { useCanChange } from '../../shared/use-role.ts'
import { ChangeChannel } from './change-channel.tsx'
import { NewChannel } from './new-channel.tsx'

/** Where alerts go. */
export function AlertChannels() {
  const query = useQuery(alertChannelsQuery)
  const canChange = useCanChange()
  return (
    <Section title="Who is told">
      <Stack>
        <QueryView query={query}>
          {({ items }) =>
            items.length === 0 ? (
              <Text size="sm">Nobody yet: alerts are shown on this page only.</Text>
            ) : (
              <Table verticalSpacing="sm">
                <Table.Tbody>
                  {items.map((channel) => (
                    <ChannelRow key={channel.id} channel={channel} canChange={canChange} />
                  ))}
                </Table.Tbody>
              </Table>
            )
          }
        </QueryView>
        {canChange && <NewChannel />}
      </Stack>
    </Section>
  )
}

function ChannelRow({ channel, canChange }: { channel: AlertChannel; canChange: boolean }) {
  const { id, name, kind, target, lastToldAt, lastError } = channel
  const test = useChange({ change: () => testAlertChannel(id), stale: ['alerts'] })
  const remove = useChange({
    change: () => deleteAlertChannel(id),
    stale: ['alerts'],
    done: `${name} has been removed`,
  })
  return (
    <Table.Tr>
      <Table.Td miw={120}>
        <Text fw={600} dir="auto" style={{ overflowWrap: 'anywhere' }}>
          {name}
        </Text>
        <Text size="sm">
          {kind}: {target}
        </Text>
        {lastToldAt !== null && (
          <Text size="sm">
            told <Ago at={lastToldAt} />
          </Text>
        )}
        {lastError !== null && <Text size="sm">{lastError}</Text>}
        {test.data !== undefined && (
          <Text size="sm" role="status">
            {test.data.outcome === 'told'
              ? 'It accepted the test alert.'
              : `It did not accept the test alert: ${test.data.error ?? ''}`}
          </Text>
        )}
      </Table.Td>
      {canChange && (
        <Table.Td>
          <Group gap={4}>
            <Button size="xs" variant="default" loading={test.isPending} onClick={() => test.mutate()}>
              Send a test
            </Button>
            <ChangeChannel channel={channel} />
            <Button
              size="xs"
              variant="default"
              loading={remove.isPending}
              onClick={() =>
                confirm({
                  title: `Remove ${name}?`,
                  text: 'No more alerts are sent to it.',
                  yes: 'Remove the channel',
                  onYes: () => remove.mutate(),
                })
              }
            >
              Remove
            </Button>
          </Group>
        </Table.Td>
      )}
    </Table.Tr>
  )
}
