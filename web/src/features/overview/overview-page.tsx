import { Grid, Paper, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
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
import { limits } from './range.ts'
import { RangeBar } from './range-bar.tsx'

/** The chart library is the largest part of the app: it comes after the numbers. */
const EventChart = lazy(() => import('./event-chart.tsx'))

const rangeStepMs = 10_000

export function OverviewPage() {
  const search = useSearch({ from: '/shell/' })
  const navigate = useNavigate()
  const { sourceId, destinationId } = search
  const range = limits(search, useNow(rangeStepMs))
  const filter = {
    ...range,
    ...(sourceId !== undefined && { sourceId }),
    ...(destinationId !== undefined && { destinationId }),
  }
  const query = useQuery(overviewQuery(filter))
  return (
    <>
      <PageHeader title="Overview" description="What came in, and what became of it." />
      <Stack gap="lg">
        <FirstSteps />
        <RangeBar search={search} onChange={(next) => void navigate({ to: '/', search: next, replace: true })} />
        <QueryView query={query}>
          {(overview) => (
            <>
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
                      <EventChart series={overview.series} />
                    </Suspense>
                  </Section>
                </Grid.Col>
              </Grid>
              <Section title="Endpoints that fail now">
                <FailingEndpoints endpoints={overview.failingEndpoints} />
              </Section>
            </>
          )}
        </QueryView>
      </Stack>
    </>
  )
}

const span = (ms: number | null): string => (ms === null ? '–' : formatSpan(ms))

/** Each leads to the deliveries behind it. */
function Figures({
  overview: { funnel, latency, inboxDepth },
  filter,
}: {
  overview: Overview
  filter: DeliveryFilter
}) {
  const delivered = { ...filter, status: 'delivered' } as const
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }}>
      <Figure name="Received" value={funnel.received.toLocaleString()} behind={filter} />
      <Figure name="Latency p50" value={span(latency.p50Ms)} behind={delivered} />
      <Figure name="Latency p95" value={span(latency.p95Ms)} behind={delivered} />
      <Figure name="Waiting in the inbox" value={inboxDepth.toLocaleString()} behind={{ status: 'queued' }} />
    </SimpleGrid>
  )
}

function Figure({ name, value, behind }: { name: string; value: string; behind: DeliveryFilter }) {
  return (
    <Paper withBorder p="md">
      <Link to="/deliveries" search={behind} size="sm">
        {name}
      </Link>
      <Text fz={26} fw={650}>
        {value}
      </Text>
    </Paper>
  )
}
