import { Group, Stack, Text } from '@mantine/core'
import type { DestinationView, EndpointState } from '../../../../src/schemas/destination.ts'
import { readableReason } from '../../shared/readable-reason.ts'
import { Section } from '../../shared/section.tsx'
import { Ago, Countdown, SpanSince } from '../../shared/time.tsx'
import { useCanChange } from '../../shared/use-role.ts'
import { EndpointBadge } from './endpoint-badge.tsx'
import { RetryWaiting } from './retry-waiting.tsx'

/** How each endpoint does: since when, why, and what comes next. */
export function EndpointStates({ destination }: { destination: DestinationView }) {
  const { id, settings, endpoints } = destination
  const canChange = useCanChange()
  const isAttempted = destination.enabled && !destination.paused
  return (
    <Section title="State of the endpoints">
      <Stack gap="sm" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
        {endpoints.map((endpoint) => (
          <Group key={endpoint.id} component="li" gap="sm" align="flex-start">
            <EndpointBadge state={endpoint.state} />
            <div style={{ overflowWrap: 'anywhere', minWidth: 0, flex: '1 1 240px' }}>
              <Text>{settings.webhooks.find((webhook) => webhook.id === endpoint.id)?.url}</Text>
              <StateText endpoint={endpoint} isAttempted={isAttempted} isHeld={destination.held !== null} />
            </div>
          </Group>
        ))}
      </Stack>
      {endpoints.length === 0 && <Text size="sm">It has no endpoint, so its events are not sent anywhere.</Text>}
      {canChange && <RetryWaiting destinationId={id} isAttempted={isAttempted} />}
    </Section>
  )
}

interface StateProps {
  endpoint: EndpointState
  /** Its destination sends: neither paused nor switched off. */
  isAttempted: boolean
  /** Its destination is paused because it fails. */
  isHeld: boolean
}

function StateText({ endpoint, isAttempted, isHeld }: StateProps) {
  const { state, lastAttemptAt, failingSince, downSince, nextProbeAt, downOnNodes, reason } = endpoint
  return (
    <>
      {reason !== null && <Text size="sm">{readableReason(reason)}</Text>}
      {downSince !== null && (
        <Text size="sm" c="dimmed">
          Down for <SpanSince at={downSince} />
          {downOnNodes > 1 && ` on ${downOnNodes} nodes`}
          {isAttempted ? (
            <NextProbe at={nextProbeAt} />
          ) : isHeld ? (
            '. No event is sent while the destination is held; a sample event is, now and then.'
          ) : (
            '. No attempt is made while the destination is paused or off.'
          )}
        </Text>
      )}
      {state === 'failing' && failingSince !== null && (
        <Text size="sm" c="dimmed">
          First failure <Ago at={failingSince} />
        </Text>
      )}
      {lastAttemptAt !== null && (
        <Text size="sm" c="dimmed">
          Latest attempt <Ago at={lastAttemptAt} />
        </Text>
      )}
    </>
  )
}

const NextProbe = ({ at }: { at: string | null }) => (
  <>
    : only a single attempt is made now and then, to see whether it works again.{' '}
    {at === null ? (
      'The next event or retry is the next such attempt.'
    ) : (
      <>
        The next one is made <Countdown to={at} />.
      </>
    )}
  </>
)
