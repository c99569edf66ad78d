import { Group, Stack, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import type { ReactNode } from 'react'

interface Props {
  title: string
  description?: ReactNode
  /** Beside the title, such as a status. */
  badge?: ReactNode
  actions?: ReactNode
}

/** The title of a page, in the page and in the browser's tab, with what can be done on it. */
export function PageHeader({ title, description, badge, actions }: Props) {
  useDocumentTitle(`${title} · Postrider`)
  return (
    <Group justify="space-between" align="flex-start" gap="md" mb="lg">
      <Stack gap={4} style={{ minWidth: 0, flex: '1 1 16rem' }}>
        <Group gap="sm">
          <Title order={1} size="h2" dir="auto" style={{ overflowWrap: 'anywhere' }}>
            {title}
          </Title>
          {badge}
        </Group>
        {description !== undefined && (
          <Text c="dimmed" maw={720}>
            {description}
          </Text>
        )}
      </Stack>
      {actions !== undefined && <Group gap="sm">{actions}</Group>}
    </Group>
  )
}
