import { Badge, Group, Paper, SimpleGrid, Stack, Text, TextInput, ThemeIcon, Title } from '@mantine/core'
import { IconSearch, IconWebhook } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { CatalogItem } from '../../../../src/schemas/system.ts'
import { catalogQuery } from '../../api/destinations.ts'
import { EmptyState } from '../../shared/empty-state.tsx'
import { ButtonLink } from '../../shared/link.tsx'
import { PageHeader } from '../../shared/page-header.tsx'
import { QueryView } from '../../shared/query-view.tsx'
import { useCanChange } from '../../shared/use-role.ts'

/** What events can be sent to. */
export function CatalogPage() {
  const [search, setSearch] = useState('')
  const matches = ({ name, description }: CatalogItem): boolean =>
    `${name} ${description}`.toLowerCase().includes(search.trim().toLowerCase())
  const query = useQuery(catalogQuery)
  return (
    <>
      <PageHeader title="Catalog" description="Choose where your events go." />
      <TextInput
        aria-label="Search the catalog"
        placeholder="Search the catalog"
        leftSection={<IconSearch size={16} aria-hidden />}
        maw={420}
        mb="lg"
        value={search}
        onChange={({ currentTarget }) => setSearch(currentTarget.value)}
      />
      <QueryView query={query}>
        {(items) => {
          const found = items.filter(matches)
          if (found.length === 0)
            return (
              <EmptyState icon={<IconSearch aria-hidden />} title="Nothing in the catalog has this name">
                Try “Webhooks”: it sends events to any HTTP endpoint of yours.
              </EmptyState>
            )
          return (
            <SimpleGrid cols={{ base: 1, md: 2, xl: 3 }}>
              {found.map((item) => (
                <CatalogCard key={item.type} item={item} />
              ))}
            </SimpleGrid>
          )
        }}
      </QueryView>
    </>
  )
}

function CatalogCard({ item: { name, description, eventTypes } }: { item: CatalogItem }) {
  const canChange = useCanChange()
  return (
    <Paper withBorder p="lg" component="article">
      <Stack gap="sm" align="flex-start">
        <Group gap="sm">
          <ThemeIcon size={40} variant="light">
            <IconWebhook aria-hidden />
          </ThemeIcon>
          <Title order={2} size="h4">
            {name}
          </Title>
        </Group>
        <Text size="sm">{description}</Text>
        <Group gap={6}>
          <Badge variant="default">Cloud mode</Badge>
          <Badge variant="default">All source types</Badge>
        </Group>
        <Text size="sm" c="dimmed">
          Accepts {eventTypes.join(', ')} calls.
        </Text>
        {canChange ? (
          <ButtonLink to="/catalog/webhooks">Connect {name}</ButtonLink>
        ) : (
          <Text size="sm" c="dimmed">
            An administrator can connect it.
          </Text>
        )}
      </Stack>
    </Paper>
  )
}
