/** The paths of a delivery. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { WorkflowHandle } from '@temporalio/client'
import { signals, type DeliverEventInput, type RetrySchedule } from '../../src/contracts/delivery.ts'
import { holdWorkflowId } from '../../src/contracts/holds.ts'
import { eventWorkflowId } from '../../src/contracts/names.ts'
import { ownRetry } from '../../src/contracts/retry-window.ts'
import type { Destination } from '../../src/schemas/destination.ts'
import { startDelivery } from '../../src/temporal/start-delivery.ts'
import type { Answer } from '../../test/support/receiver.ts'
import { until } from '../../test/support/wait.ts'
import type { Paths, Recorder } from './recorder.ts'

/** More than the first attempts that may be in flight to one endpoint. */
const moreThanTurns = 12

const down = { status: 503 }
const ok: Answer = {}
const gone = { status: 404 }
const later = { ...down, headers: { 'retry-after': '30' } }

const orderPerUser = { maxWaitSeconds: 60 }
const paced = <Endpoint extends object>(endpoint: Endpoint) => ({ ...endpoint, maxPerSecond: 1 })

/** So many failures in a row, and more, show that an endpoint is down. */
const manyFailures = 30

export function deliveryPaths({ app, database, call, receiver, destinationFor }: Recorder): Paths {
  const change = (destination: Destination, patch: object) => call('PATCH', `/destinations/${destination.id}`, patch)

  const deliver = async (
    messageId: string,
    destination: Destination,
    retry: Partial<RetrySchedule> = {},
    ...others: Destination[]
  ): Promise<WorkflowHandle> => {
    const input: DeliverEventInput = {
      sourceId: 'src_recorded',
      messageId,
      message: {
        version: 1,
        type: 'track',
        messageId,
        timestamp: '2026-01-01T00:00:00.000Z',
        userId: 'u1',
        event: 'E',
      },
      targets: [destination, ...others].map(({ id, settings, successPolicy, orderPerUser, ...its }) => ({
        destinationId: id,
        endpointIds: settings.webhooks.map((webhook) => webhook.id),
        successPolicy,
        ...ownRetry({ settings, ...its }),
        ...(orderPerUser && { orderWaitMs: orderPerUser.maxWaitSeconds * 1_000, ticket: `${messageId}/${id}` }),
      })),
      retry: { windowMs: 60_000, initialMs: 200, maxMs: 1_000, ...retry },
    }
    await startDelivery(app.temporal, input)
    return app.temporal.client.workflow.getHandle(
      app.temporal.names.workflowId(eventWorkflowId(input.sourceId, messageId)),
    )
  }

  const untilOutcome = (handle: WorkflowHandle, outcome: string) =>
    until(`${handle.workflowId} is ${outcome}`, async () => {
      const { typedSearchAttributes } = await handle.describe()
      return typedSearchAttributes.getAll().some(({ value }) => value === outcome)
    })

  const untilSecondFailed = (handle: WorkflowHandle) =>
    until('the second attempt failed', async () =>
      (await handle.describe()).raw.pendingActivities?.some(({ lastFailure }) => lastFailure),
    )

  /** Its last run, after signals enough for a second one. */
  const heldInTwoRuns = async (): Promise<{ first: WorkflowHandle; last: WorkflowHandle }> => {
    const { workflow } = app.temporal.client
    const destination = await destinationFor([down, ok], [down])
    const handle = await deliver('two-runs', destination, { initialMs: 1_000 })
    await untilOutcome(handle, 'retrying')
    await change(destination, { paused: true })
    await untilOutcome(handle, 'held')
    const { runId } = await handle.describe()
    const second = await until('a second run', async () => {
      await handle.signal(signals.destinationChanged, destination.id)
      const described = await handle.describe()
      return described.runId !== runId && described.runId
    })
    await change(destination, { paused: false })
    return {
      first: workflow.getHandle(handle.workflowId, runId),
      last: workflow.getHandle(handle.workflowId, second),
    }
  }
  let twoRuns: ReturnType<typeof heldInTwoRuns> | undefined

  return {
    'held-until-told': async () => {
      const destination = await destinationFor([ok])
      await change(destination, { paused: true })
      const handle = await deliver('told', destination)
      await untilOutcome(handle, 'held')
      await change(destination, { paused: false })
      return handle
    },
    'held-by-one-until-it-was-switched-off': async () => {
      const [held, retried] = [await destinationFor([ok]), await destinationFor([down, ok])]
      await change(held, { paused: true })
      const handle = await deliver('held-by-one', held, { initialMs: 5_000, maxMs: 5_000 }, retried)
      await untilOutcome(handle, 'held')
      await change(held, { enabled: false })
      await untilOutcome(handle, 'retrying')
      return handle
    },
    'told-often-while-held': async () => {
      const destination = await destinationFor([down, ok], [down, ok])
      const handle = await deliver('told-often', destination, { initialMs: 1_000 })
      await untilOutcome(handle, 'retrying')
      await change(destination, { paused: true })
      await untilOutcome(handle, 'held')
      for (let round = 0; round < 3; round++)
        await Promise.all(Array.from({ length: 5 }, () => handle.signal(signals.destinationChanged, destination.id)))
      await change(destination, { paused: false })
      return handle
    },
    'two-destinations-changed-at-once': async () => {
      const destinations = [await destinationFor([ok]), await destinationFor([ok])] as const
      const [resumed, disabled] = destinations
      for (const destination of destinations) await change(destination, { paused: true })
      const handle = await deliver('changed-at-once', resumed, {}, disabled)
      await untilOutcome(handle, 'held')
      await Promise.all([change(resumed, { paused: false }), change(disabled, { enabled: false })])
      // No destination is named: both are read.
      await handle.signal(signals.destinationChanged)
      return handle
    },
    'told-often-while-retrying': async () => {
      const destination = await destinationFor([down, ok], [down, ok])
      const handle = await deliver('told-often-later', destination, { initialMs: 3_000, maxMs: 3_000 })
      await untilOutcome(handle, 'retrying')
      for (let round = 0; round < 3; round++)
        await Promise.all(Array.from({ length: 5 }, () => handle.signal(signals.destinationChanged, destination.id)))
      return handle
    },
    'not-attempted-in-the-whole-window': async () => {
      const destination = await destinationFor([ok])
      // The node looks for an endpoint that it does not know in the database.
      for (const webhook of destination.settings.webhooks) webhook.id = 'ep_unknown'
      database.shut()
      const handle = await deliver('not-attempted', destination, { windowMs: 3_000 })
      await until('the destination is waited for', async () => {
        const { raw } = await handle.describe()
        return raw.pendingActivities?.some(({ activityType }) => activityType?.name === 'readDestination')
      })
      database.open()
      return handle
    },
    'held-for-a-second-run': async () => (await (twoRuns ??= heldInTwoRuns())).first,
    'held-in-a-second-run': async () => (await (twoRuns ??= heldInTwoRuns())).last,
    'destination-rechecked': async () => {
      const destination = await destinationFor([ok])
      await change(destination, { paused: true })
      const handle = await deliver('rechecked', destination)
      await untilOutcome(handle, 'held')
      await change(destination, { paused: false })
      await handle.result()
      const query = "WorkflowType = 'recheckDestination' AND ExecutionStatus = 'Running'"
      return until('it is told', async () => {
        for await (const { workflowId } of app.temporal.client.workflow.list({ query }))
          return app.temporal.client.workflow.getHandle(workflowId)
        return undefined
      })
    },
    'destination-held-while-failing': async () => {
      const endpoint = await receiver(down)
      const settings = { webhooks: [{ url: endpoint.url }] }
      const failing = { name: 'Failing', type: 'webhooks', onFailing: 'hold', holdAfterSeconds: 1, settings }
      const destination = await call<Destination>('POST', '/destinations', failing)
      await deliver('failing', destination)
      await until(
        'it is held',
        async () => (await call<Destination>('GET', `/destinations/${destination.id}`)).held !== null,
      )
      const before = endpoint.requests.length
      await until('it is probed', () => endpoint.requests.length > before)
      endpoint.answer(ok)
      return app.temporal.client.workflow.getHandle(holdWorkflowId(destination.id))
    },
    'alert-told': async () => {
      const channel = await receiver(down, ok)
      const settings = { kind: 'webhook', url: channel.url }
      await call('POST', '/alert-channels', { name: 'Recorded', settings })
      const rules = { endpointFailingAfterSeconds: 1, destinationHeld: false, inboxOlderThanSeconds: null }
      await call('PUT', '/alert-rules', rules)
      await deliver('alert', await destinationFor([down]))
      await until('it is told', () => channel.requests.length > 0)
      const query = "WorkflowType = 'tellAlert' AND ExecutionStatus = 'Running'"
      return until('it is listed', async () => {
        for await (const { workflowId } of app.temporal.client.workflow.list({ query }))
          return app.temporal.client.workflow.getHandle(workflowId)
        return undefined
      })
    },
    'retry-after-beyond-the-window': async () => {
      const muchLater = { ...down, headers: { 'retry-after': '3600' } }
      return deliver('retry-after', await destinationFor([muchLater, muchLater, ok]), { windowMs: 6_000 })
    },
    'delivered-at-once': async () => deliver('at-once', await destinationFor([ok], [down])),
    'retried-with-pauses-of-its-own': async () => {
      const patience = { retryWindowHours: 1, retryPauses: { firstSeconds: 1, maxSeconds: 10 } }
      return deliver('own-pauses', { ...(await destinationFor([down, down, ok])), ...patience }, { initialMs: 60_000 })
    },
    'window-over-at-one-endpoint': async () => {
      const destination = await destinationFor([down], [down, down, down, down, down, down, ok])
      const [, patient] = destination.settings.webhooks
      Object.assign(patient ?? {}, { retryWindowHours: 1, retryPauses: { firstSeconds: 1, maxSeconds: 10 } })
      return deliver('own-endpoint-window', destination, { windowMs: 3_000 })
    },
    'paced-then-delivered': async () => {
      const destination = await destinationFor([ok])
      await change(destination, { settings: { webhooks: destination.settings.webhooks.map(paced) } })
      const handles = await Promise.all([1, 2, 3, 4].map((place) => deliver(`paced-${place}`, destination)))
      await Promise.all(handles.map((handle) => handle.result()))
      const lengths = await Promise.all(handles.map(async (handle) => (await handle.describe()).historyLength))
      // One that was turned away, and came again.
      return handles[lengths.indexOf(Math.max(...lengths))] as WorkflowHandle
    },
    'in-line-then-delivered': async () => deliver('in-line', { ...(await destinationFor([down, ok])), orderPerUser }),
    'in-line-then-cancelled': async () => {
      const handle = await deliver('in-line-cancelled', { ...(await destinationFor([down])), orderPerUser })
      await untilOutcome(handle, 'retrying')
      await handle.cancel()
      return handle
    },
    'retried-then-delivered': async () => deliver('retried', await destinationFor([down, down, ok])),
    'first-success-stops-the-rest': async () =>
      deliver('first-success', await destinationFor([down, down, ok], [down], [{ status: 404 }])),
    'kept-away-while-the-endpoint-is-down': async () => {
      const endpoint = await receiver(down)
      const settings = { webhooks: [{ url: endpoint.url }] }
      const destination = await call<Destination>('POST', '/destinations', { name: 'Down', type: 'webhooks', settings })
      await Promise.all(Array.from({ length: manyFailures }, (_, n) => deliver(`failing-${n}`, destination)))
      let n = 0
      const handle = await until('a delivery is kept away', async () => {
        const next = await deliver(`kept-away-${n++}`, destination)
        await untilOutcome(next, 'retrying')
        const { memo } = await next.describe()
        return String(memo?.['reason']).includes('is down') && next
      })
      endpoint.answer(ok)
      return handle
    },
    'refused-by-all': async () => deliver('refused', await destinationFor([{ status: 404 }], [{ status: 410 }])),
    'window-over': async () => deliver('window', await destinationFor([down]), { windowMs: 3_000 }),
    'held-then-resumed': async () => {
      const destination = await destinationFor([down, ok])
      await change(destination, { paused: true })
      const handle = await deliver('held', destination)
      await untilOutcome(handle, 'held')
      await change(destination, { paused: false })
      return handle
    },
    'held-in-the-middle-of-retries': async () => {
      const destination = await destinationFor([down, down, ok])
      const handle = await deliver('held-later', destination, { initialMs: 1_000 })
      await untilOutcome(handle, 'retrying')
      await change(destination, { paused: true })
      await untilOutcome(handle, 'held')
      await change(destination, { paused: false })
      return handle
    },
    'held-while-the-database-was-away': async () => {
      const destination = await destinationFor([ok])
      await change(destination, { paused: true })
      const handle = await deliver('held-without-database', destination)
      await untilOutcome(handle, 'held')
      database.shut()
      await handle.signal(signals.destinationChanged, destination.id)
      await until('the destination is read again later', async () => {
        const { raw } = await handle.describe()
        return raw.pendingActivities?.some(({ activityType }) => activityType?.name === 'readDestination')
      })
      database.open()
      await until('the database is back', async () => (await fetch(`${app.url}/readyz`)).ok)
      await change(destination, { paused: false })
      return handle
    },
    'discarded-while-held': async () => {
      const destination = await destinationFor([ok])
      await change(destination, { paused: true })
      const handle = await deliver('discarded-held', destination)
      await untilOutcome(handle, 'held')
      await change(destination, { enabled: false })
      return handle
    },
    'discarded-while-retrying': async () => {
      const destination = await destinationFor([down])
      const handle = await deliver('discarded', destination, { initialMs: 30_000, maxMs: 30_000 })
      await untilOutcome(handle, 'retrying')
      await change(destination, { enabled: false })
      return handle
    },
    cancelled: async () => {
      const handle = await deliver('cancelled', await destinationFor([down]))
      await untilOutcome(handle, 'retrying')
      await sleep(1_000)
      await handle.cancel()
      return handle
    },
    'cancelled-while-a-retry-waits': async () => {
      const handle = await deliver('cancelled-later', await destinationFor([down, later]))
      await untilSecondFailed(handle)
      await handle.cancel()
      return handle
    },
    'partly-delivered': async () =>
      deliver('partly', await destinationFor([ok]), {}, await destinationFor([down, gone])),
    'given-up-while-another-is-retried': async () =>
      deliver('given-up', await destinationFor([gone]), { initialMs: 1_000 }, await destinationFor([down, down, ok])),
    'discarded-before-its-first-attempt': async () => {
      const destination = await destinationFor([{ delayMs: 1_500 }])
      const handles = await Promise.all(
        Array.from({ length: moreThanTurns }, (_, index) => deliver(`in-turn-${index}`, destination)),
      )
      const isDeferred = async (handle: WorkflowHandle) =>
        (await handle.describe()).raw.pendingActivities?.some(
          ({ activityType }) => activityType?.name === 'attemptInTurn',
        )
      const handle = await until('one waits for its turn', async () => {
        for (const one of handles) if (await isDeferred(one)) return one
        return undefined
      })
      await change(destination, { enabled: false })
      await handle.signal(signals.destinationChanged, destination.id)
      return handle
    },
    'retried-now': async () => {
      const handle = await deliver('now', await destinationFor([down, ok]), { initialMs: 30_000, maxMs: 30_000 })
      await untilOutcome(handle, 'retrying')
      await handle.signal(signals.retryNow, { by: 'operator', why: 'mended' })
      return handle
    },
    'retried-now-beside-a-waiting-retry': async () => {
      const handle = await deliver('beside', await destinationFor([down, later, ok]))
      await untilSecondFailed(handle)
      await handle.signal(signals.retryNow, { by: 'operator', why: 'mended' })
      return handle
    },
    'refused-beside-a-retry-now': async () => {
      const destination = await destinationFor([down, { ...gone, delayMs: 3_000 }, 'hang'])
      const handle = await deliver('refused-beside', destination, { initialMs: 1_000, maxMs: 1_000 })
      await untilOutcome(handle, 'retrying')
      await until('the second attempt is made', async () =>
        (await handle.describe()).raw.pendingActivities?.some(({ lastStartedTime }) => lastStartedTime),
      )
      await handle.signal(signals.retryNow, { by: 'operator', why: 'mended' })
      return handle
    },
    deferred: async () => {
      const destination = await destinationFor([{ delayMs: 1_500 }])
      const handles = await Promise.all(
        Array.from({ length: moreThanTurns }, (_, index) => deliver(`deferred-${index}`, destination)),
      )
      for (const handle of handles) {
        await handle.result()
        const { events } = await handle.fetchHistory()
        if (events?.some((event) => event.activityTaskScheduledEventAttributes)) return handle
      }
      throw new Error('none was deferred')
    },
  }
}
