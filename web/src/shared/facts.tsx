import { SimpleGrid, Text } from '@mantine/core'
import type { ReactNode } from 'react'

/** What is known of one thing, as names and values side by side. */
export const Facts = ({ children }: { children: ReactNode }) => (
  <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} component="dl" m={0}>
    {children}
  </SimpleGrid>
)

export const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <div>
    <Text component="dt" size="sm" c="dimmed">
      {name}
    </Text>
    <Text component="dd" m={0} dir="auto" style={{ overflowWrap: 'anywhere' }}>
      {children}
    </Text>
  </div>
)
