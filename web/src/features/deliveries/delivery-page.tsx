import { Button, Group, Stack, Text } from '@mantine/core'
import { IconExternalLink } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import type { DeliveryDetail } from '../../../../src/schemas/delivery.ts'
import { deliveryQuery } from '../../api/deliveries.ts'
import { recovering } from '../../api/query-client.ts'
import { isMissing } from '../../api/request.ts'
import { CopyIcon } from '../../shared/copy.tsx'
import { Fact, Facts } from '../../shared/facts.tsx'
import { Link } from '../../shared/link.tsx'
import { PageHeader } from '../../shared/page-header.tsx'
import { QueryView } from '../../shared/query-view.tsx'
import { readableReason } from '../../shared/readable-reason.ts'
import { Section } from '../../shared/section.tsx'
import { Ago } from '../../shared/time.tsx'
import { useCanChange } from '../../shared/use-role.ts'
import { visibleName } from '../../shared/visible-name.ts'
import { DestinationResults } from './destination-results.tsx'
import { DeliveryTimeline } from './delivery-timeline.tsx'
import { OriginFact } from './origin.tsx'
import { isRedelivery, RedeliveryBadge, RelatedDeliveries } from './redelivery.tsx'
import { SentRequest } from './sent-request.tsx'
import { StatusBadge } from './status-badge.tsx'
import { SteerDelivery } from './steer-delivery.tsx'
import { WhyItEnded } from './why-it-ended.tsx'

/** How often a delivery that is under way is read again, in milliseconds. */
const liveMs = 1_500

export function DeliveryPage() {
  const { id } = useParams({ from: '/shell/deliveries/$id' })
  const query = useQuery({
    ...deliveryQuery(id),
    refetchInterval: recovering(({ state: { data, error } }) => {
      const isOver = data === undefined ? isMissing(error) : data.endedAt !== null
      return isOver ? false : liveMs
    }),
  })
  return <QueryView query={query}>{(delivery) => <DeliveryView delivery={delivery} />}</QueryView>
}

function DeliveryView({ delivery }: { delivery: DeliveryDetail }) {
  const canChange = useCanChange()
  return (
    <>
      <PageHeader
        title={visibleName(delivery.event) ?? delivery.type}
        badge={
          <Group gap="xs">
            <StatusBadge status={delivery.status} />
            <RedeliveryBadge id={delivery.id} />
          </Group>
        }
        actions={
          <>
            {canChange && <SteerDelivery delivery={delivery} />}
            {delivery.temporalUiUrl !== null && <TemporalLink url={delivery.temporalUiUrl} />}
          </>
        }
        {...(delivery.reason !== null && { description: readableReason(withUrls(delivery.reason, delivery)) })}
      />
      <Stack gap="lg">
        {delivery.messageId !== '' && <RelatedDeliveries id={delivery.id} messageId={delivery.messageId} />}
        <WhyItEnded delivery={delivery} />
        <DeliveryFacts delivery={delivery} />
        <Section title="Results">
          <DestinationResults delivery={delivery} />
        </Section>
        <Section title="Attempts">
          <CallOfSync delivery={delivery} />
          <DeliveryTimeline delivery={delivery} />
        </Section>
        <Section title="Request with the current settings">
          <SentRequest delivery={delivery} />
        </Section>
      </Stack>
    </>
  )
}

/** With the URLs of endpoints in the place of their ids, as in the results: also of those that were removed, or moved since. */
const withUrls = (reason: string, { destinations }: DeliveryDetail): string =>
  destinations
    .flatMap(({ endpoints }) => endpoints)
    .reduce((text, { endpointId, url }) => text.replaceAll(endpointId, url ?? 'a deleted endpoint'), reason)

/** What came before the attempts of a delivery that a sync of an audience began. */
function CallOfSync({ delivery: { id, sourceId } }: { delivery: DeliveryDetail }) {
  if (!sourceId.startsWith('aud_') || isRedelivery(id)) return null
  return (
    <Text size="sm" c="dimmed" mb="sm">
      A sync made the first call, which failed. The sync counts that call; it is not among these attempts.
    </Text>
  )
}

function TemporalLink({ url }: { url: string }) {
  return (
    <Button
      component="a"
      href={url}
      target="_blank"
      rel="noreferrer"
      variant="default"
      rightSection={<IconExternalLink size={14} aria-hidden />}
    >
      Temporal UI
    </Button>
  )
}

function DeliveryFacts({ delivery }: { delivery: DeliveryDetail }) {
  return (
    <Facts>
      <OriginFact id={delivery.sourceId} />
      <Fact name="User">
        {delivery.erased ? (
          'erased'
        ) : delivery.userId === null ? (
          '–'
        ) : (
          <Link to="/deliveries" search={{ userId: delivery.userId }} dir="auto">
            {delivery.userId}
          </Link>
        )}
      </Fact>
      {delivery.outOfOrder && (
        <Fact name="Order">
          Sent before its turn: earlier events of the same user took longer than it may wait for them
        </Fact>
      )}
      <Fact name="Message id">
        {delivery.messageId === '' ? (
          'erased'
        ) : (
          <Group gap={4} wrap="nowrap">
            <Text size="sm" ff="monospace" style={{ overflowWrap: 'anywhere' }}>
              {delivery.messageId}
            </Text>
            <CopyIcon value={delivery.messageId} name="message id" />
          </Group>
        )}
      </Fact>
      <Fact name="Started">
        <Ago at={delivery.startedAt} />
      </Fact>
      <Fact name="Ended">{delivery.endedAt === null ? 'not yet' : <Ago at={delivery.endedAt} />}</Fact>
    </Facts>
  )
}
