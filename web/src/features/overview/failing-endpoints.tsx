import { Button, Group, Stack, Text } from '@mantine/core'
import { IconAlertTriangle, IconCircleCheck } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Overview } from '../../../../src/schemas/overview.ts'
import { deliveryCountQuery } from '../../api/deliveries.ts'
import { destinationsQuery } from '../../api/destinations.ts'
import { ButtonLink, Link } from '../../shared/link.tsx'
import { Countdown, SpanSince } from '../../shared/time.tsx'
import { useConnection } from '../../shared/use-connection.ts'
import { useCanChange } from '../../shared/use-role.ts'
import { advice, type Advice } from '../../shared/failure-advice.ts'

type Failing = Overview['failingEndpoints'][number]

const refreshMs = 5_000

/** So many more are shown with their counts at a time; each costs a question to Temporal. */
const shownTogether = 10

/** Endpoints whose latest attempt failed: whose they are, why, what waits for them, and what mends it. */
export function FailingEndpoints({ endpoints }: { endpoints: Overview['failingEndpoints'] }) {
  const [shown, setShown] = useState(shownTogether)
  if (endpoints.length === 0)
    return (
      <Group gap="xs" wrap="nowrap" align="flex-start">
        <IconCircleCheck size={18} color="var(--mantine-color-teal-7)" aria-hidden style={{ flexShrink: 0 }} />
        <Text size="sm">None: no endpoint of a destination that is switched on fails.</Text>
      </Group>
    )
  const more = endpoints.length - shown
  return (
    <Stack gap="md">
      {endpoints.slice(0, shown).map((failing) => (
        <FailingRow key={failing.endpointId} failing={failing} />
      ))}
      {more > 0 && (
        <Group>
          <Button variant="default" size="xs" onClick={() => setShown(shown + shownTogether)}>
            Show {Math.min(more, shownTogether)} of {more} more
          </Button>
        </Group>
      )}
    </Stack>
  )
}

function FailingRow({ failing }: { failing: Failing }) {
  const { destinationId, url, reason, since, failed } = failing
  const canChange = useCanChange()
  const { missing } = useConnection()
  const destinations = useQuery({ ...destinationsQuery, refetchInterval: refreshMs }).data
  const destination = destinations?.find(({ id }) => id === destinationId)
  const state = destination?.endpoints.find(({ id }) => id === failing.endpointId)
  const isOneOfSeveral = (destination?.endpoints.length ?? 0) > 1
  const isPaused = destination?.paused === true
  const { isFinal, text, action } = isPaused
    ? whilePaused(destination.held !== null)
    : advice(failing, {
        othersMayTakeIt: isOneOfSeveral && destination?.successPolicy === 'any',
        isTemporalAway: missing.some(({ part }) => part === 'temporal'),
      })
  return (
    <Group gap="sm" align="flex-start" wrap="nowrap" role="group" aria-label={`Failing: ${url}`}>
      <IconAlertTriangle size={18} color="var(--mantine-color-red-7)" aria-hidden style={{ flexShrink: 0 }} />
      <div style={{ overflowWrap: 'anywhere', flex: 1 }}>
        <Link to="/destinations/$id" params={{ id: destinationId }} fw={600} dir="auto">
          {destination?.name ?? destinationId}
        </Link>
        <Text size="sm">{url}</Text>
        <Text size="sm">{reason}</Text>
        <Text size="sm" c="dimmed">
          Failing for <SpanSince at={since} />; {failedAttempts(failed)} in this range.
          {state !== undefined && state.downSince !== null && (
            <>
              {' '}
              It is down
              {state.nextProbeAt !== null && !isPaused && (
                <>
                  , next attempt <Countdown to={state.nextProbeAt} />
                </>
              )}
              .
            </>
          )}
        </Text>
        <Group gap="sm">
          {/* Of a destination with several endpoints, it is the others that these wait for. */}
          {!(isFinal && isOneOfSeveral) && <CountLink destinationId={destinationId} status="retrying" />}
          {isPaused && <CountLink destinationId={destinationId} status="held" />}
          <CountLink destinationId={destinationId} status="queued" />
          <CountLink destinationId={destinationId} status="failed" />
        </Group>
        <Group gap="sm" mt={4}>
          <Text size="sm">{text}</Text>
          <ButtonLink
            to="/destinations/$id"
            params={{ id: destinationId }}
            size="xs"
            variant={isFinal ? 'filled' : 'default'}
          >
            {canChange ? action : 'See the destination'}
          </ButtonLink>
        </Group>
      </div>
    </Group>
  )
}

/** Calls of syncs fail, too, and are not among them. */
const failedAttempts = (count: number): string =>
  count === 0
    ? 'no attempt to deliver an event failed'
    : `${count.toLocaleString()} failed ${count === 1 ? 'attempt' : 'attempts'}`

/** Whatever the reason is: nothing is sent there meanwhile. */
const whilePaused = (becauseItFails: boolean): Advice => ({
  isFinal: false,
  text: becauseItFails
    ? 'The destination is held because it fails: its events wait, and go on by themselves when an endpoint answers.'
    : 'The destination is paused: its events wait until it is resumed.',
  action: 'See it, or resume it',
})

const countTexts = {
  held: ['delivery waits until it is resumed', 'deliveries wait until it is resumed'],
  queued: ['event waits in the inbox', 'events wait in the inbox'],
  retrying: ['delivery waits for its next attempt', 'deliveries wait for their next attempt'],
  failed: ['delivery failed for good', 'deliveries failed for good'],
} as const

function CountLink({ destinationId, status }: { destinationId: string; status: keyof typeof countTexts }) {
  const filter = { destinationId, status }
  const { data, error } = useQuery({ ...deliveryCountQuery(filter), refetchInterval: refreshMs })
  // A count that could not be read again says nothing of now.
  if (data === undefined || error !== null || data.count === 0) return null
  return (
    <Link size="sm" to="/deliveries" search={filter}>
      {data.count.toLocaleString()} {countTexts[status][data.count === 1 ? 0 : 1]}
    </Link>
  )
}
