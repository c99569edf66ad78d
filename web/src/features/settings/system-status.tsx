import { Anchor, Badge, SimpleGrid, Table } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { statusQuery } from '../../api/system.ts'
import { QueryView } from '../../shared/query-view.tsx'
import { Section } from '../../shared/section.tsx'
import { formatSpan } from '../../shared/time.tsx'

/** Versions, where Temporal and the database are and how they do, and what holds for deliveries. */
export function SystemStatus() {
  const query = useQuery(statusQuery)
  return (
    <QueryView query={query}>
      {({ version, nodeVersion, temporal, database, retentionMs, retry, inboxDepth }) => (
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          <Facts
            title="Temporal"
            facts={[
              ['State', <Health key="state" isHealthy={temporal.healthy} />],
              ['Address', temporal.address],
              ['Namespace', temporal.namespace],
              ['Server', temporal.serverVersion ?? 'unknown'],
              [
                'UI',
                temporal.uiUrl === null ? (
                  'Address unknown: set TEMPORAL_UI_URL'
                ) : (
                  <Anchor key="ui" href={temporal.uiUrl} target="_blank" rel="noreferrer">
                    {temporal.uiUrl}
                  </Anchor>
                ),
              ],
            ]}
          />
          <Facts
            title="Database"
            facts={[
              ['State', <Health key="state" isHealthy={database.healthy} />],
              ['Kind', database.kind === 'pglite' ? 'PGlite, embedded' : 'PostgreSQL'],
              ['Version', database.version ?? 'unknown'],
              ['Waiting in the inbox', inboxDepth?.toLocaleString() ?? 'unknown'],
            ]}
          />
          <Facts
            title="Deliveries"
            facts={[
              ['Finished deliveries are kept for', formatSpan(retentionMs)],
              ['Retried for', formatSpan(retry.windowMs)],
              ['First pause between attempts', formatSpan(retry.initialMs)],
              ['Longest pause between attempts', formatSpan(retry.maxMs)],
            ]}
          />
          <Facts
            title="Postrider"
            facts={[
              ['Version', version],
              ['Node', nodeVersion],
            ]}
          />
        </SimpleGrid>
      )}
    </QueryView>
  )
}

const Health = ({ isHealthy }: { isHealthy: boolean }) => (
  <Badge color={isHealthy ? 'teal' : 'red'} variant="light">
    {isHealthy ? 'Answers' : 'Does not answer'}
  </Badge>
)

function Facts({ title, facts }: { title: string; facts: [name: string, value: ReactNode][] }) {
  return (
    <Section title={title}>
      <Table>
        <Table.Tbody>
          {facts.map(([name, value]) => (
            <Table.Tr key={name}>
              <Table.Th scope="row" fw={400} c="dimmed" w="45%">
                {name}
              </Table.Th>
              <Table.Td style={{ overflowWrap: 'anywhere' }}>{value}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Section>
  )
}
