import { Button, Group, Paper, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconBan, IconExternalLink, IconRefresh, IconRepeat } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { DeliveryDetail, SteeringAction } from '../../../../src/schemas/delivery.ts'
import { deliveryQuery, steerDelivery } from '../../api/deliveries.ts'
import { destinationsQuery } from '../../api/destinations.ts'
import { sourcesQuery } from '../../api/sources.ts'
import { CopyIcon } from '../../shared/copy.tsx'
import { Link } from '../../shared/link.tsx'
import { PageHeader } from '../../shared/page-header.tsx'
import { QueryView } from '../../shared/query-view.tsx'
import { Ago } from '../../shared/time.tsx'
import { useChange } from '../../shared/use-change.ts'
import { useCanChange } from '../../shared/use-role.ts'
import { DeliveryTimeline } from './delivery-timeline.tsx'
import { SentRequest } from './sent-request.tsx'
import { StatusBadge } from './status-badge.tsx'

/** How often a delivery that is under way is read again, in milliseconds. */
const liveMs = 1_500

export function DeliveryPage() {
  const { id } = useParams({ from: '/shell/deliveries/$id' })
  const query = useQuery({
    ...deliveryQuery(id),
    refetchInterval: ({ state }) => (state.data === undefined || state.data.endedAt === null ? liveMs : false),
  })
  return <QueryView query={query}>{(delivery) => <DeliveryView delivery={delivery} />}</QueryView>
}

function DeliveryView({ delivery }: { delivery: DeliveryDetail }) {
  return (
    <>
      <PageHeader
        title={delivery.event ?? delivery.type}
        badge={<StatusBadge status={delivery.status} />}
        actions={<Actions delivery={delivery} />}
        {...(delivery.reason !== null && { description: delivery.reason })}
      />
      <Stack gap="lg">
        <Facts delivery={delivery} />
        <Section title="Attempts">
          <DeliveryTimeline delivery={delivery} />
        </Section>
        <Section title="Request">
          <SentRequest delivery={delivery} />
        </Section>
      </Stack>
    </>
  )
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Paper withBorder p="lg" component="section">
      <Stack>
        <Title order={2} size="h4">
          {title}
        </Title>
        {children}
      </Stack>
    </Paper>
  )
}

const told: Record<SteeringAction, string> = {
  retry: 'The next attempt is made now',
  redeliver: 'It is delivered again',
  cancel: 'It is being cancelled',
}

function Actions({ delivery: { id, endedAt, temporalUiUrl } }: { delivery: DeliveryDetail }) {
  const canChange = useCanChange()
  const navigate = useNavigate()
  const steer = useSteering(id, (newId) => void navigate({ to: '/deliveries/$id', params: { id: newId } }))
  return (
    <>
      {canChange && endedAt === null && (
        <>
          <Button
            leftSection={<IconRefresh size={16} aria-hidden />}
            loading={steer.isPending}
            onClick={() => steer.mutate('retry')}
          >
            Retry now
          </Button>
          <Button
            variant="default"
            leftSection={<IconBan size={16} aria-hidden />}
            loading={steer.isPending}
            onClick={() => steer.mutate('cancel')}
          >
            Cancel
          </Button>
        </>
      )}
      {canChange && endedAt !== null && (
        <Button
          leftSection={<IconRepeat size={16} aria-hidden />}
          loading={steer.isPending}
          onClick={() => steer.mutate('redeliver')}
        >
          Redeliver
        </Button>
      )}
      {temporalUiUrl !== null && (
        <Button
          component="a"
          href={temporalUiUrl}
          target="_blank"
          rel="noreferrer"
          variant="default"
          rightSection={<IconExternalLink size={14} aria-hidden />}
        >
          Temporal UI
        </Button>
      )}
    </>
  )
}

const useSteering = (id: string, onRedelivered: (id: string) => void) =>
  useChange({
    change: async (action: SteeringAction) => ({ ...(await steerDelivery(id, action)), action }),
    stale: ['deliveries'],
    onDone: ({ action, id: newId }) => {
      if (action === 'redeliver' && newId !== undefined && newId !== id) onRedelivered(newId)
      notifications.show({ message: told[action], color: 'teal' })
    },
  })

function Facts({ delivery }: { delivery: DeliveryDetail }) {
  const source = useQuery(sourcesQuery).data?.find(({ id }) => id === delivery.sourceId)
  const destinations = useQuery(destinationsQuery).data ?? []
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} component="dl" m={0}>
      <Fact name="Source">
        <Link to="/sources/$id" params={{ id: delivery.sourceId }}>
          {source?.name ?? delivery.sourceId}
        </Link>
      </Fact>
      <Fact name={delivery.destinationIds.length === 1 ? 'Destination' : 'Destinations'}>
        {delivery.destinationIds.map((id) => (
          <Link key={id} to="/destinations/$id" params={{ id }} mr="xs">
            {destinations.find((destination) => destination.id === id)?.name ?? id}
          </Link>
        ))}
      </Fact>
      <Fact name="User">
        {delivery.userId === null ? (
          '–'
        ) : (
          <Link to="/deliveries" search={{ userId: delivery.userId }}>
            {delivery.userId}
          </Link>
        )}
      </Fact>
      <Fact name="Message id">
        <Group gap={4} wrap="nowrap">
          <Text size="sm" ff="monospace" style={{ overflowWrap: 'anywhere' }}>
            {delivery.messageId}
          </Text>
          <CopyIcon value={delivery.messageId} name="message id" />
        </Group>
      </Fact>
      <Fact name="Started">
        <Ago at={delivery.startedAt} />
      </Fact>
      <Fact name="Ended">{delivery.endedAt === null ? 'not yet' : <Ago at={delivery.endedAt} />}</Fact>
    </SimpleGrid>
  )
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <Text component="dt" size="sm" c="dimmed">
        {name}
      </Text>
      <Text component="dd" m={0} style={{ overflowWrap: 'anywhere' }}>
        {children}
      </Text>
    </div>
  )
}
