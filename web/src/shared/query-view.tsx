import { Alert, Skeleton, Stack } from '@mantine/core'
import { IconClockExclamation } from '@tabler/icons-react'
import type { QueryObserverResult } from '@tanstack/react-query'
import { lazy, Suspense, use, type ReactNode } from 'react'
import { isMissing } from '../api/request.ts'
import { ClosingContext } from './closing.ts'
import { ErrorNotice, explainReading } from './error-notice.tsx'
import { formatSpan, formatTime, useNow } from './time.tsx'
import { loadFile } from './load-file.ts'
import { useLastError } from './use-last-error.ts'

const NotThere = lazy(() => loadFile(() => import('./not-there.tsx')))

interface Props<Data> {
  query: Pick<QueryObserverResult<Data>, 'data' | 'error' | 'dataUpdatedAt' | 'refetch'>
  children: (data: Data) => ReactNode
}

/** Shows an answer of the server once it is there; until then its outline, or why it does not come. An answer that could not
 *  be read again stays, and says how old it is. */
export function QueryView<Data>({ query, children }: Props<Data>) {
  const { data, dataUpdatedAt, refetch } = query
  const error = useLastError(query)
  const isInDialog = use(ClosingContext) !== null
  if (data !== undefined)
    return (
      <>
        {query.error !== null && <Stale at={dataUpdatedAt} error={query.error} />}
        {children(data)}
      </>
    )
  if (error !== null && isMissing(error))
    return isInDialog ? (
      <ErrorNotice error={error} title="Not found" />
    ) : (
      <Suspense fallback={<Outline />}>
        <NotThere error={error} />
      </Suspense>
    )
  if (error !== null) return <ErrorNotice isReading error={error} title="This could not be loaded" onRetry={refetch} />
  return <Outline />
}

/** Stands above what is old. */
function Stale({ at, error }: { at: number; error: Error }) {
  const age = useNow(1_000) - at
  return (
    <Alert
      color="yellow"
      role="status"
      mb="md"
      icon={<IconClockExclamation aria-hidden />}
      title={`Not up to date: as it was ${formatSpan(age, { whole: true })} ago, at ${formatTime(at)}`}
    >
      {explainReading(error)}
    </Alert>
  )
}

export function Outline() {
  return (
    <Stack gap="sm" role="progressbar" aria-busy="true" aria-label="Loading">
      <Skeleton height={36} />
      <Skeleton height={36} />
      <Skeleton height={36} width="70%" />
    </Stack>
  )
}
