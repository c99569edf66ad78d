import { Grid, Paper, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { lazy, Suspense, type ReactNode } from 'react'
import type { DeliveryFilter } from '../../../../src/schemas/delivery.ts'
import type { Overview } from '../../../../src/schemas/overview.ts'
import { overviewQuery } from '../../api/system.ts'
import { Link } from '../../shared/link.tsx'
import { PageHeader } from '../../shared/page-header.tsx'
import { QueryView } from '../../shared/query-view.tsx'
import { Section } from '../../shared/section.tsx'
import { formatSpan, useNow } from '../../shared/time.tsx'
import { FailingEndpoints } from './failing-endpoints.tsx'
import { FirstSteps } from './first-steps.tsx'
import { Funnel } from './funnel.tsx'
import { overviewFilter } from './range.ts'
import { RangeBar } from './range-bar.tsx'
import { loadFile } from '../../shared/load-file.ts'

/** The chart library is the largest part of the app: it comes after the numbers. */
const EventChart = lazy(() => loadFile(() => import('../../shared/event-chart.tsx')))

const chartMembers = ['accepted', 'delivered', 'failed', 'rejected'] as const

const rangeStepMs = 10_000

export function OverviewPage() {
  const search = useSearch({ from: '/shell/' })
  const navigate = useNavigate()
  const filter = overviewFilter(search, useNow(rangeStepMs))
  const query = useQuery(overviewQuery(search, (now) => overviewFilter(search, now)))
  return (
    <>
      <PageHeader title="Overview" description="What came in, and what became of it." />
      <Stack gap="lg">
        <FirstSteps />
        <RangeBar search={search} onChange={(next) => void navigate({ to: '/', search: next, replace: true })} />
        <QueryView query={query}>
          {(overview) => (
            <>
              <Section title="Endpoints that fail now">
                <FailingEndpoints endpoints={overview.failingEndpoints} />
              </Section>
              <Figures overview={overview} filter={filter} />
              <Grid>
                <Grid.Col span={{ base: 12, lg: 6 }}>
                  <Section title="What became of it" h="100%">
                    <Funnel overview={overview} filter={filter} />
                  </Section>
                </Grid.Col>
                <Grid.Col span={{ base: 12, lg: 6 }}>
                  <Section title="Over time" h="100%">
                    <Suspense fallback={<Skeleton height={280} />}>
                      <EventChart series={overview.series} members={chartMembers} />
                    </Suspense>
                  </Section>
                </Grid.Col>
              </Grid>
            </>
          )}
        </QueryView>
      </Stack>
    </>
  )
}

/** Each leads to the deliveries behind it. */
function Figures({ overview, filter }: { overview: Overview; filter: DeliveryFilter }) {
  const { funnel, latency, attemptDuration, inboxDepth } = overview
  const delivered = { ...filter, status: 'delivered' } as const
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, lg: 4 }}>
      <Figure name="Received" value={funnel.received.toLocaleString()} behind={filter} />
      <Figure
        name="From accepted to delivered"
        value={percentiles(latency)}
        note="Median / 95th percentile until an endpoint took it, including the inbox, retries and pauses"
        behind={delivered}
      />
      <Figure
        name="A single attempt"
        value={percentiles(attemptDuration)}
        note="Median / 95th percentile of the requests that succeeded"
        behind={delivered}
      />
      <Figure name="Waiting in the inbox" value={inboxDepth.toLocaleString()} behind={{ status: 'queued' }} />
    </SimpleGrid>
  )
}

/** A number and its unit stay on one line. */
const percentiles = ({ p50Ms, p95Ms }: Overview['latency']): ReactNode =>
  p50Ms === null || p95Ms === null ? (
    'None yet'
  ) : (
    <>
      <span style={{ whiteSpace: 'nowrap' }}>{formatSpan(p50Ms)} /</span>{' '}
      <span style={{ whiteSpace: 'nowrap' }}>{formatSpan(p95Ms)}</span>
    </>
  )

interface FigureProps {
  name: string
  value: ReactNode
  /** What the value is made of. */
  note?: string
  behind: DeliveryFilter
}

function Figure({ name, value, note, behind }: FigureProps) {
  return (
    <Paper withBorder p="md" component="section" aria-label={name}>
      <Link to="/deliveries" search={behind} size="sm">
        {name}
      </Link>
      <Text fz={22} fw={650}>
        {value}
      </Text>
      {note !== undefined && (
        <Text size="xs" c="dimmed">
          {note}
        </Text>
      )}
    </Paper>
  )
}
