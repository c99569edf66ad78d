import { Alert, Badge, Code, Group, Stack, Text, Timeline } from '@mantine/core'
import { IconCheck, IconClock, IconHandStop, IconX } from '@tabler/icons-react'
import type { DeliveryAttempt, DeliveryDetail } from '../../../../src/schemas/delivery.ts'
import { useEndpointUrls } from '../../shared/endpoint-urls.ts'
import { Countdown, formatSpan, formatTime } from '../../shared/time.tsx'
import { AttemptEvidence } from './attempt-evidence.tsx'

/** What an operator did, as an entry of the history. */
const steeringDone: Record<DeliveryDetail['steering'][number]['action'], string> = {
  retry: 'Retry requested',
  redeliver: 'Redelivery requested',
  cancel: 'Cancelled',
}

type Entry =
  | { kind: 'attempt'; at: string; attempt: DeliveryAttempt }
  | { kind: 'steering'; at: string; steering: DeliveryDetail['steering'][number] }

/** What happened, oldest first: attempts at every endpoint, and who steered; then what comes next. */
export function DeliveryTimeline({ delivery }: { delivery: DeliveryDetail }) {
  const urlOf = useEndpointUrls()
  const entries: Entry[] = [
    ...delivery.timeline.map((attempt): Entry => ({ kind: 'attempt', at: attempt.at, attempt })),
    ...delivery.steering.map((steering): Entry => ({ kind: 'steering', at: steering.at, steering })),
  ].sort((a, b) => a.at.localeCompare(b.at))
  if (entries.length === 0 && delivery.pending.length === 0) return <NoAttempt delivery={delivery} />
  return (
    <>
      <LeftOut delivery={delivery} />
      <Timeline bulletSize={26} lineWidth={2} style={{ overflowWrap: 'anywhere' }}>
        {entries.map((entry, index) =>
          entry.kind === 'attempt' ? (
            <Timeline.Item
              key={index}
              bullet={<Bullet isGood={isDelivered(entry.attempt)} />}
              title={entry.attempt.url ?? urlOf(entry.attempt.endpointId)}
            >
              <Attempt attempt={entry.attempt} number={delivery.timeline.indexOf(entry.attempt) + 1} />
            </Timeline.Item>
          ) : (
            <Timeline.Item
              key={index}
              bullet={<IconHandStop size={14} aria-hidden />}
              title={steeringDone[entry.steering.action]}
            >
              <Text size="sm" c="dimmed">
                {formatTime(entry.at)}
                {entry.steering.by !== null && ` by ${entry.steering.by}`}
                {entry.steering.why !== null && `: ${entry.steering.why}`}
              </Text>
            </Timeline.Item>
          ),
        )}
        {delivery.pending.map(({ endpointId, running, nextAttemptAt }) => (
          <Timeline.Item
            key={endpointId}
            bullet={<IconClock size={14} aria-hidden />}
            title={urlOf(endpointId)}
            lineVariant="dashed"
          >
            <Text size="sm">
              {running ? (
                'An attempt is being made now'
              ) : nextAttemptAt === null ? (
                'The next attempt is waiting'
              ) : (
                <>
                  Next attempt <Countdown to={nextAttemptAt} />
                  {askedPause(delivery, endpointId)}
                </>
              )}
            </Text>
          </Timeline.Item>
        ))}
      </Timeline>
    </>
  )
}

/** Of an endpoint with very many attempts the oldest are not kept. */
function LeftOut({ delivery: { destinations, timeline } }: { delivery: DeliveryDetail }) {
  return destinations
    .flatMap(({ endpoints }) => endpoints)
    .map(({ endpointId, url, attempts }) => {
      const count = attempts - timeline.filter((attempt) => attempt.endpointId === endpointId).length
      return count > 0 ? (
        <Text key={endpointId} size="sm" c="dimmed" mb="sm" style={{ overflowWrap: 'anywhere' }}>
          {count === 1 ? '1 early attempt' : `${count.toLocaleString()} early attempts`} at{' '}
          {url ?? 'a deleted endpoint'} {count === 1 ? 'is' : 'are'} counted, but not listed: of very many, the newest
          are kept.
        </Text>
      ) : null
    })
}

/** That the endpoint asked for a pause after its last attempt, if it did. */
function askedPause({ timeline }: DeliveryDetail, endpointId: string): string {
  const { retryAfterMs = null } = timeline.findLast((attempt) => attempt.endpointId === endpointId) ?? {}
  return retryAfterMs === null || retryAfterMs === 0
    ? ''
    : `; the endpoint asked for a pause of ${formatSpan(retryAfterMs)}`
}

const isDelivered = ({ status, error }: DeliveryAttempt): boolean => error === null && status !== null

const Bullet = ({ isGood }: { isGood: boolean }) =>
  isGood ? (
    <IconCheck size={14} color="var(--mantine-color-teal-7)" aria-label="succeeded" />
  ) : (
    <IconX size={14} color="var(--mantine-color-red-7)" aria-label="failed" />
  )

function Attempt({ attempt, number }: { attempt: DeliveryAttempt; number: number }) {
  const { at, durationMs, status, error, excerpt } = attempt
  return (
    <Stack gap={6} align="flex-start">
      <Group gap="xs">
        <Text size="sm" c="dimmed">
          {formatTime(at)}
        </Text>
        {status !== null && <Badge variant="default">HTTP {status}</Badge>}
        <Badge variant="default">{formatSpan(durationMs)}</Badge>
      </Group>
      {error !== null && (
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {error}
        </Text>
      )}
      {error !== null && excerpt !== null && (
        <Code
          block
          tabIndex={0}
          role="region"
          aria-label={`Beginning of the answer to attempt ${number}`}
          mah={160}
          maw="100%"
          style={{ overflow: 'auto' }}
        >
          {excerpt}
        </Code>
      )}
      <AttemptEvidence attempt={attempt} number={number} />
    </Stack>
  )
}

function NoAttempt({ delivery: { status, attempts, reason, endedAt } }: { delivery: DeliveryDetail }) {
  if (attempts !== null && attempts > 0)
    return (
      <Text c="dimmed">
        Its attempt is counted, and nothing else of it is kept: its node was stopped at that moment.
      </Text>
    )
  if (status === 'held')
    return <Alert color="grape">Its destination is paused. The first attempt is made when it is resumed.</Alert>
  if (status === 'queued')
    return (
      <Alert color="gray">
        {reason === null
          ? 'It waits in the inbox, until Temporal accepts it or until its endpoints, which hang or are overloaded, can be tried again.'
          : 'It waits in the inbox.'}
      </Alert>
    )
  if (status === 'cancelled') return <Text c="dimmed">It was cancelled before its first attempt.</Text>
  return <Text c="dimmed">{endedAt === null ? 'No attempt has been made yet.' : 'It ended without an attempt.'}</Text>
}
