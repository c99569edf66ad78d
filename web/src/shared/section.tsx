import { Paper, Stack, Title } from '@mantine/core'
import type { ReactNode } from 'react'

interface Props {
  title: string
  /** `100%` makes sections that stand side by side equally high. */
  h?: '100%'
  children: ReactNode
}

/** A part of a page, with a heading of its own. */
export function Section({ title, h, children }: Props) {
  return (
    <Paper withBorder p="lg" component="section" {...(h !== undefined && { h })}>
      <Stack>
        <Title order={2} size="h4">
          {title}
        </Title>
        {children}
      </Stack>
    </Paper>
  )
}
