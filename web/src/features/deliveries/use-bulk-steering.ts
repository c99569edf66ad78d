import { useMutation, useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import type { BulkSteering, DeliveryFilter, SteeringAction } from '../../../../src/schemas/delivery.ts'
import {
  bulkSteeringQuery,
  startBulkSteering,
  steerDelivery,
  stopBulkSteering,
  type BulkTarget,
  type RedeliveryChoice,
} from '../../api/deliveries.ts'
import { recovering } from '../../api/query-client.ts'
import { explain } from '../../shared/error-notice.tsx'

/** Why it is done, and what of it is left out. */
interface BulkOrder extends RedeliveryChoice {
  why: string
}

/** How far it is, and why some could not be steered. */
export type BulkState = Pick<BulkSteering, 'status' | 'matched' | 'done' | 'failed' | 'failures'>

interface Bulk {
  /** Undefined until it has begun. */
  state: BulkState | undefined
  isStarting: boolean
  error: Error | null
  start: (order: BulkOrder) => void
  stop: () => void
}

/** Steers many deliveries: the server works through a filter, this page through a choice of its rows. */
export function useBulkSteering(action: SteeringAction, target: BulkTarget): Bulk {
  const byFilter = useFilterSteering(action, target.kind === 'filter' ? target.filter : {})
  const byIds = useIdSteering(action, target.kind === 'ids' ? target.ids : [])
  return target.kind === 'filter' ? byFilter : byIds
}

const progressMs = 500

function useFilterSteering(action: SteeringAction, filter: DeliveryFilter): Bulk {
  const start = useMutation({
    mutationFn: ({ why, ...choice }: BulkOrder) => startBulkSteering(action, filter, why, choice),
  })
  const id = start.data?.id
  const progress = useQuery({
    ...bulkSteeringQuery(id ?? ''),
    enabled: id !== undefined,
    refetchInterval: recovering(({ state }) =>
      state.data === undefined || state.data.status === 'running' ? progressMs : false,
    ),
  })
  const stop = useMutation({ mutationFn: stopBulkSteering })
  return {
    state: progress.data ?? start.data,
    isStarting: start.isPending,
    error: start.error ?? stop.error ?? progress.error,
    start: start.mutate,
    stop: () => id !== undefined && stop.mutate(id),
  }
}

/** Calls under way at a time. */
const parallelCalls = 4

function useIdSteering(action: SteeringAction, ids: string[]): Bulk {
  const [state, setState] = useState<BulkState>()
  const isStopped = useRef(false)
  const run = useMutation({
    mutationFn: async ({ why, ...choice }: BulkOrder) => {
      const left = [...ids]
      const counts = { matched: ids.length, done: 0, failed: 0 }
      const reasons = new Map<string, number>()
      const show = (status: BulkState['status']): void =>
        setState({ status, ...counts, failures: [...reasons].map(([reason, count]) => ({ reason, count })) })
      show('running')
      const work = async (): Promise<void> => {
        for (let id = left.shift(); id !== undefined && !isStopped.current; id = left.shift()) {
          await steerDelivery(id, action, why, choice).then(
            () => counts.done++,
            (error: Error) => {
              const reason = explain(error)
              counts.failed++
              reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
            },
          )
          show('running')
        }
      }
      await Promise.all(Array.from({ length: parallelCalls }, work))
      show(isStopped.current ? 'stopped' : 'completed')
    },
  })
  return {
    state,
    isStarting: run.isPending,
    error: run.error,
    start: run.mutate,
    stop: () => {
      isStopped.current = true
    },
  }
}
