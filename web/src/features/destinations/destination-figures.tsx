import { Group, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import type { Overview } from '../../../../src/schemas/overview.ts'
import { audiencesQuery } from '../../api/audiences.ts'
import { recentFailuresQuery } from '../../api/deliveries.ts'
import { overviewQuery } from '../../api/system.ts'
import { Fact, Facts } from '../../shared/facts.tsx'
import { Link } from '../../shared/link.tsx'
import { QueryView } from '../../shared/query-view.tsx'
import { readableReason } from '../../shared/readable-reason.ts'
import { Section } from '../../shared/section.tsx'
import { Ago, formatSpan } from '../../shared/time.tsx'
import { visibleName } from '../../shared/visible-name.ts'
import { loadFile } from '../../shared/load-file.ts'

/** The chart library is the largest part of the app: it comes after the numbers. */
const EventChart = lazy(() => loadFile(() => import('../../shared/event-chart.tsx')))

const refreshMs = 5_000

/** What the requests of deliveries to a destination came to in the last 24 hours. */
export function DestinationFigures({ destinationId }: { destinationId: string }) {
  const query = useQuery(overviewQuery({ destinationId }, () => ({ destinationId })))
  return (
    <Section title="The last 24 hours">
      <QueryView query={query}>{(overview) => <Figures overview={overview} />}</QueryView>
      <CountedElsewhere destinationId={destinationId} />
    </Section>
  )
}

/** Says that what syncs send is not among the figures, where there may be any. */
function CountedElsewhere({ destinationId }: { destinationId: string }) {
  const audiences = useQuery(audiencesQuery).data?.filter(({ destinationIds }) =>
    destinationIds.includes(destinationId),
  )
  if (audiences === undefined || audiences.length === 0) return null
  return (
    <Group gap={4}>
      <Text size="sm" c="dimmed">
        Calls that syncs of audiences send are not among these; each sync counts its own:
      </Text>
      {audiences.map(({ id, name }) => (
        <Link key={id} size="sm" to="/audiences/$id" params={{ id }} dir="auto" style={{ overflowWrap: 'anywhere' }}>
          {name}
        </Link>
      ))}
    </Group>
  )
}

function Figures({ overview: { series, latency, attemptDuration } }: { overview: Overview }) {
  const sum = (member: 'delivered' | 'failed'): number => series.reduce((total, step) => total + step[member], 0)
  const [delivered, failed] = [sum('delivered'), sum('failed')]
  const made = delivered + failed
  if (made === 0) return <Text size="sm">No event was sent to it.</Text>
  return (
    <>
      <Facts>
        <Fact name="Success rate">{((delivered / made) * 100).toFixed(1)} %</Fact>
        <Fact name="Requests that succeeded">{delivered.toLocaleString()}</Fact>
        <Fact name="Requests that failed">{failed.toLocaleString()}</Fact>
        <Fact name="From accepted to delivered, median / 95th percentile">{percentiles(latency)}</Fact>
        <Fact name="A single attempt, median / 95th percentile">{percentiles(attemptDuration)}</Fact>
      </Facts>
      <Suspense fallback={<Skeleton height={300} />}>
        <EventChart series={series} members={['delivered', 'failed']} />
      </Suspense>
    </>
  )
}

const percentiles = ({ p50Ms, p95Ms }: Overview['latency']): string =>
  p50Ms === null || p95Ms === null ? 'None yet' : `${formatSpan(p50Ms)} / ${formatSpan(p95Ms)}`

/** The newest deliveries that failed for good there, and why. */
export function RecentFailures({ destinationId }: { destinationId: string }) {
  const query = useQuery({ ...recentFailuresQuery(destinationId), refetchInterval: refreshMs })
  return (
    <Section title="Recent failures">
      <QueryView query={query}>
        {(failures) =>
          failures.length === 0 ? (
            <Text size="sm">No delivery that is still kept failed here for good.</Text>
          ) : (
            <Stack gap="xs">
              {failures.map(({ id, event, type, reason, startedAt }) => (
                <div key={id} style={{ overflowWrap: 'anywhere' }}>
                  <Link to="/deliveries/$id" params={{ id }} fw={600} dir="auto">
                    {visibleName(event) ?? type}
                  </Link>{' '}
                  <Text span size="sm" c="dimmed">
                    <Ago at={startedAt} />
                  </Text>
                  <Text size="sm">{reason === null ? 'No reason is known.' : readableReason(reason)}</Text>
                </div>
              ))}
              <Link size="sm" to="/deliveries" search={{ destinationId, status: 'failed' }}>
                Show all that failed here
              </Link>
            </Stack>
          )
        }
      </QueryView>
    </Section>
  )
}
