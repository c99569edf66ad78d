import { Skeleton, Stack } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ErrorNotice } from './error-notice.tsx'

interface Props<Data> {
  query: UseQueryResult<Data>
  children: (data: Data) => ReactNode
}

/** Shows an answer of the server once it is there; until then its outline, or why it does not come. */
export function QueryView<Data>({ query, children }: Props<Data>) {
  if (query.data !== undefined) return children(query.data)
  if (query.error !== null)
    return <ErrorNotice error={query.error} title="This could not be loaded" onRetry={query.refetch} />
  return <Outline />
}

export function Outline() {
  return (
    <Stack gap="sm" aria-busy="true" aria-label="Loading">
      <Skeleton height={36} />
      <Skeleton height={36} />
      <Skeleton height={36} width="70%" />
    </Stack>
  )
}
