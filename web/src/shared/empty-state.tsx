import { Paper, Stack, Text, ThemeIcon, Title } from '@mantine/core'
import type { ReactNode } from 'react'

interface Props {
  icon: ReactNode
  title: string
  /** What to do so that something is here. */
  children: ReactNode
  action?: ReactNode
}

/** Stands where a list has nothing to show. */
export function EmptyState({ icon, title, children, action }: Props) {
  return (
    <Paper withBorder p="xl">
      <Stack align="center" gap="sm" py="lg">
        <ThemeIcon variant="light" size={52} radius="xl">
          {icon}
        </ThemeIcon>
        <Title order={2} size="h4" ta="center">
          {title}
        </Title>
        <Text c="dimmed" ta="center" maw={460} component="div">
          {children}
        </Text>
        {action}
      </Stack>
    </Paper>
  )
}
