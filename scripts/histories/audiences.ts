/** The paths of the syncs of an audience. */

import type { WorkflowHandle } from '@temporalio/client'
import { audienceScheduleId, audienceWorkflowId } from '../../src/contracts/audience-sync.ts'
import type { Audience, Sync } from '../../src/schemas/audience.ts'
import type { Destination } from '../../src/schemas/destination.ts'
import type { Answer } from '../../test/support/receiver.ts'
import { until } from '../../test/support/wait.ts'
import type { Paths, Recorder } from './recorder.ts'

/** A server that suggests to continue as new after few events rather than thousands. */
export const shortHistories = { 'limit.historyCount.suggestContinueAsNew': '45' }

/** More calls in a row than mean that a destination is down, and those in flight when that is known. */
const manyCalls = 90

const limitMs = 60_000
const down: Answer = { status: 503 }
const ok: Answer = {}

export function audiencePaths({ app, call, receiver, destinationFor }: Recorder): Paths {
  const { client } = app.temporal
  const create = (destinations: Destination[], options: object = {}) =>
    call<Audience>('POST', '/audiences', {
      name: 'Recorded',
      destinationIds: destinations.map(({ id }) => id),
      ...options,
    })
  const pause = (destination: Destination, paused: boolean) =>
    call('PATCH', `/destinations/${destination.id}`, { paused })
  const members = (count: number, from = 0): string[] => Array.from({ length: count }, (_, index) => `u${from + index}`)
  const upload = async ({ id }: Audience, userIds: string[]): Promise<string> => {
    const response = await fetch(`${app.url}/api/v1/audiences/${id}/members`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${app.adminToken}`, 'content-type': 'application/x-ndjson' },
      body: userIds.map((userId) => `${JSON.stringify({ userId })}\n`).join(''),
    })
    return ((await response.json()) as { syncId: string }).syncId
  }
  const is = (audience: Audience, syncId: string, what: (sync: Sync) => boolean) =>
    until(
      'the sync is there',
      async () => what(await call<Sync>('GET', `/audiences/${audience.id}/syncs/${syncId}`)),
      limitMs,
    )
  const isSending = ({ phase }: Sync): boolean => phase === 'sending'
  const hasEnded = ({ endedAt }: Sync): boolean => endedAt !== null

  /** The run as it is now, however many follow. */
  const runOf = async (workflowId: string): Promise<WorkflowHandle> => {
    const run = await until('it runs', () =>
      client.workflow
        .getHandle(workflowId)
        .describe()
        .catch(() => undefined),
    )
    return client.workflow.getHandle(workflowId, run.runId, { followRuns: false })
  }
  const synced = async (audience: Audience, syncId: string): Promise<WorkflowHandle> => {
    await is(audience, syncId, hasEnded)
    return runOf(audienceWorkflowId(audience.id))
  }
  /** A sync that is held, long enough for the history to become long; the first run of it and the last. */
  const heldForLong = async () => {
    const destination = await destinationFor([ok])
    const audience = await create([destination])
    await pause(destination, true)
    const syncId = await upload(audience, members(3))
    await is(audience, syncId, isSending)
    const first = await runOf(audienceWorkflowId(audience.id))
    await until(
      'the first run has ended',
      async () => (await first.describe()).status.name === 'CONTINUED_AS_NEW',
      limitMs,
    )
    const last = await runOf(audienceWorkflowId(audience.id))
    await pause(destination, false)
    await is(audience, syncId, hasEnded)
    return { first, last }
  }
  let held: ReturnType<typeof heldForLong> | undefined

  return {
    'audience-first-sync': async () => {
      const audience = await create([await destinationFor([ok]), await destinationFor([ok], [ok])])
      return synced(audience, await upload(audience, members(3)))
    },
    'audience-refused': async () => {
      const audience = await create([await destinationFor([ok])])
      await synced(audience, await upload(audience, members(4)))
      return synced(audience, await upload(audience, members(1)))
    },
    'audience-handed-on': async () => {
      const audience = await create([await destinationFor([down, ok])])
      return synced(audience, await upload(audience, members(2)))
    },
    'audience-endpoint-down': async () => {
      const answers = Array.from({ length: manyCalls }, () => down)
      const audience = await create([await destinationFor([...answers, ok])])
      return synced(audience, await upload(audience, members(2 * manyCalls)))
    },
    'audience-stopped': async () => {
      const audience = await create([await destinationFor([ok])], { maxPerSecond: 5 })
      const syncId = await upload(audience, members(100))
      await is(audience, syncId, ({ sent }) => sent > 0)
      await call('POST', `/audiences/${audience.id}/syncs/${syncId}/stop`)
      return synced(audience, syncId)
    },
    'audience-stopped-while-held': async () => {
      const destination = await destinationFor([ok])
      const audience = await create([destination])
      await pause(destination, true)
      const syncId = await upload(audience, members(2))
      await is(audience, syncId, isSending)
      await call('POST', `/audiences/${audience.id}/syncs/${syncId}/stop`)
      return synced(audience, syncId)
    },
    'audience-held-and-another-waits': async () => {
      const destination = await destinationFor([ok])
      const audience = await create([destination])
      await pause(destination, true)
      await is(audience, await upload(audience, members(2)), isSending)
      const next = await upload(audience, members(3))
      await pause(destination, false)
      return synced(audience, next)
    },
    'audience-membership-unusable': async () => {
      const { url } = await receiver({ status: 404 })
      const audience = await create([await destinationFor([ok])], { membership: { kind: 'http', url } })
      const { syncId } = await call<{ syncId: string }>('POST', `/audiences/${audience.id}/sync`)
      return synced(audience, syncId)
    },
    'audience-source-fails-at-first': async () => {
      const rows = { headers: { 'content-type': 'text/csv' }, body: 'userId\nu1\n' }
      const { url } = await receiver(down, down, rows)
      const audience = await create([await destinationFor([ok])], { membership: { kind: 'http', url } })
      const { syncId } = await call<{ syncId: string }>('POST', `/audiences/${audience.id}/sync`)
      const run = await runOf(audienceWorkflowId(audience.id))
      await is(audience, syncId, hasEnded)
      return run
    },
    'audience-by-schedule': async () => {
      const { url } = await receiver({ headers: { 'content-type': 'text/csv' }, body: 'userId\nu1\n' })
      const audience = await create([await destinationFor([ok])], {
        membership: { kind: 'http', url },
        schedule: { cron: '0 0 1 1 *' },
      })
      await client.schedule.getHandle(audienceScheduleId(audience.id)).trigger()
      return runOf(audienceWorkflowId(audience.id))
    },
    'audience-schedule': () => scheduled('ended'),
    'audience-schedule-skipped': () => scheduled('skipped'),
    'audience-continued-as-new': async () => (await (held ??= heldForLong())).first,
    'audience-continued': async () => (await (held ??= heldForLong())).last,
    'audience-deleted': async () => {
      const audience = await create([await destinationFor([ok])])
      await synced(audience, await upload(audience, members(2)))
      await call('DELETE', `/audiences/${audience.id}?notify=true`)
      await until('it is gone', async () => {
        const run = await client.workflow.getHandle(audienceWorkflowId(audience.id)).describe()
        return run.status.name === 'COMPLETED'
      })
      return runOf(audienceWorkflowId(audience.id))
    },
  }

  /** The workflow that a Schedule starts, beside a sync that runs already or not. */
  async function scheduled(end: 'ended' | 'skipped'): Promise<WorkflowHandle> {
    const destination = await destinationFor([ok])
    const audience = await create([destination], { schedule: { cron: '0 0 1 1 *' } })
    if (end === 'skipped') {
      await pause(destination, true)
      await is(audience, await upload(audience, members(1)), isSending)
    }
    const schedule = client.schedule.getHandle(audienceScheduleId(audience.id))
    await schedule.trigger()
    const { action } = await until('the schedule acted', async () => (await schedule.describe()).info.recentActions[0])
    const handle = client.workflow.getHandle(action.workflow.workflowId)
    await handle.result()
    if (end === 'skipped') await pause(destination, false)
    return handle
  }
}
