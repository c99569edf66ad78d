/** How many deliveries an action on all that match can act on, and what keeps it from the others. */

import type { DeliveryFilter, StartedStatus, Steerable, SteeringAction, SteeringObstacle } from '../schemas/delivery.ts'
import type { DeliveryLog } from './delivery-log.ts'

/** What keeps an action from a started delivery of this status; undefined: nothing. */
function obstacleTo(action: SteeringAction, status: StartedStatus): SteeringObstacle | undefined {
  if (status === 'held' && action === 'retry') return 'held'
  const isUnderWay = status === 'delivering' || status === 'retrying' || status === 'held'
  if (action === 'redeliver') return isUnderWay ? 'under_way' : undefined
  return isUnderWay ? undefined : 'over'
}

/** Counts what an action would meet; events in the inbox are none of what it acts on. */
export async function countSteerable(
  log: Pick<DeliveryLog, 'countInboxed' | 'countStarted'>,
  action: SteeringAction,
  { status, ...filter }: DeliveryFilter,
): Promise<Steerable> {
  const [inboxed, started] = await Promise.all([log.countInboxed(filter), log.countStarted(filter)])
  const fits = ([one]: [string, number]): boolean => status === undefined || one === status
  const ofInbox = sum(Object.entries(inboxed).filter(fits))
  const counts = (Object.entries(started) as [StartedStatus, number][]).filter(fits)
  const kept = new Map<SteeringObstacle, number>(ofInbox > 0 ? [['queued', ofInbox]] : [])
  for (const [one, count] of counts) {
    const obstacle = obstacleTo(action, one)
    if (obstacle !== undefined && count > 0) kept.set(obstacle, (kept.get(obstacle) ?? 0) + count)
  }
  const matched = ofInbox + sum(counts)
  const obstacles = [...kept].map(([obstacle, count]) => ({ obstacle, count }))
  return { matched, steerable: matched - obstacles.reduce((all, { count }) => all + count, 0), obstacles }
}

const sum = (counts: [string, number][]): number => counts.reduce((all, [, count]) => all + count, 0)
