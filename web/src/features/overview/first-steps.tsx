import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { sourcesQuery } from '../../api/sources.ts'
import { onboardingQuery } from '../../api/system.ts'
import { useCanChange } from '../../shared/use-role.ts'
import { loadFile } from '../../shared/load-file.ts'

/** Seldom needed: loaded when a step is left. */
const StepsList = lazy(() => loadFile(() => import('./steps-list.tsx')))

const refreshMs = 3_000

/** Three steps to the first event, each ticked when it really happened; gone when all are. */
export function FirstSteps() {
  const { data } = useQuery({
    ...onboardingQuery,
    refetchInterval: ({ state }) => (state.data?.firstEventDelivered === true ? false : refreshMs),
  })
  const source = useQuery(sourcesQuery).data?.[0]
  const canChange = useCanChange()
  if (!canChange || data === undefined || (data.sourceCreated && data.destinationConnected && data.firstEventDelivered))
    return null
  return (
    <Suspense>
      <StepsList taken={data} source={source} />
    </Suspense>
  )
}
