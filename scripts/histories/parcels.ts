/** The paths of a parcel. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { WorkflowHandle } from '@temporalio/client'
import { signals, type RetrySchedule } from '../../src/contracts/delivery.ts'
import { eventWorkflowId } from '../../src/contracts/names.ts'
import { steerInParcel, type ParcelSteering } from '../../src/contracts/parcels.ts'
import { ownRetry } from '../../src/contracts/retry-window.ts'
import type { Destination } from '../../src/schemas/destination.ts'
import { startParcel } from '../../src/temporal/start-parcel.ts'
import type { Answer } from '../../test/support/receiver.ts'
import { until } from '../../test/support/wait.ts'
import type { Paths, Recorder } from './recorder.ts'

const down = { status: 503 }
const ok: Answer = {}
const eventCount = 3
const sourceId = 'src_recorded'

export function parcelPaths({ app, call, destinationFor }: Recorder): Paths {
  const change = (destination: Destination, patch: object) => call('PATCH', `/destinations/${destination.id}`, patch)

  const send = async (
    name: string,
    destinations: Destination[],
    retry: Partial<RetrySchedule> = {},
  ): Promise<WorkflowHandle> => {
    const id = `parcel/recorded/${name}`
    const events = Array.from({ length: eventCount }, (_, n) => ({
      sourceId,
      messageId: `${name}-${n}`,
      message: {
        version: 1,
        type: 'track' as const,
        messageId: `${name}-${n}`,
        timestamp: '2026-01-01T00:00:00.000Z',
        userId: 'u1',
        event: 'E',
      },
      targets: destinations.map((destination) => ({
        destinationId: destination.id,
        endpointIds: destination.settings.webhooks.map((webhook) => webhook.id),
        successPolicy: destination.successPolicy,
        ...ownRetry(destination),
      })),
      receivedAt: '2026-01-01T00:00:00.000Z',
    }))
    const input = { events, retry: { windowMs: 60_000, initialMs: 200, maxMs: 1_000, ...retry } }
    await startParcel(app.temporal, { id, input })
    return app.temporal.client.workflow.getHandle(id)
  }

  const untilTimers = (handle: WorkflowHandle, count: number) =>
    until(`${handle.workflowId} has ${count} timers`, async () => {
      const { events = [] } = await handle.fetchHistory()
      return (events ?? []).filter((event) => event.timerStartedEventAttributes).length >= count
    })

  /** Workflow id of an event that has left its parcel. */
  const idOf = (messageId: string): string => app.temporal.names.workflowId(eventWorkflowId(sourceId, messageId))

  const steer = (handle: WorkflowHandle, messageId: string, action: ParcelSteering['action']) =>
    handle.signal(steerInParcel, {
      deliveryId: idOf(messageId),
      action,
      trace: { by: 'operator', why: 'mended' },
    } satisfies ParcelSteering)

  /** Every event fails so often at first. */
  const failing = (rounds: number): Answer[] => [...Array.from({ length: rounds * eventCount }, () => down), ok]

  return {
    'parcel-delivered-at-once': async () => send('at-once', [await destinationFor([ok], [down])]),
    'parcel-retried-then-delivered': async () =>
      send('retried', [await destinationFor(failing(2)), await destinationFor([ok]), await destinationFor(failing(1))]),
    'parcel-held-then-resumed': async () => {
      const destination = await destinationFor(failing(1))
      await change(destination, { paused: true })
      const handle = await send('held', [destination])
      await untilTimers(handle, 1)
      await change(destination, { paused: false })
      await handle.signal(signals.destinationChanged, destination.id)
      return handle
    },
    'parcel-held-in-the-middle-of-retries': async () => {
      const destination = await destinationFor(failing(2))
      const handle = await send('held-later', [destination], { initialMs: 1_000 })
      await untilTimers(handle, 1)
      await change(destination, { paused: true })
      // The pause before a retry, and the rest while it is held.
      await untilTimers(handle, 2)
      await change(destination, { paused: false })
      await handle.signal(signals.destinationChanged, destination.id)
      return handle
    },
    'parcel-held-with-what-had-no-turn': async () => {
      // Of one endpoint the round has no time for what comes after the first event; the other one is through with the second when the
      // destination is paused, and not with the third.
      const refused = { status: 404, delayMs: 2_000 }
      const { id, settings } = await destinationFor([{ ...down, delayMs: 7_000 }, ok], [refused, refused, ok])
      const webhooks = settings.webhooks.map((webhook) => ({ ...webhook, maxConcurrent: 1, timeoutSeconds: 30 }))
      const destination = await call<Destination>('PATCH', `/destinations/${id}`, { settings: { webhooks } })
      const handle = await send('no-turn', [destination])
      await sleep(3_000)
      await change(destination, { paused: true })
      await untilTimers(handle, 1)
      await change(destination, { paused: false })
      await handle.signal(signals.destinationChanged, destination.id)
      return handle
    },
    'parcel-steered': async () => {
      const destination = await destinationFor(failing(1))
      const handle = await send('steered', [destination], { initialMs: 6_000, maxMs: 6_000 })
      await untilTimers(handle, 1)
      await steer(handle, 'steered-0', 'retry')
      await steer(handle, 'steered-1', 'cancel')
      return handle
    },
    'left-its-parcel-while-paused': async () => {
      const destination = await destinationFor(failing(1))
      const handle = await send('left', [destination], { initialMs: 6_000, maxMs: 6_000 })
      await untilTimers(handle, 1)
      await change(destination, { paused: true })
      await steer(handle, 'left-0', 'retry')
      const { workflow } = app.temporal.client
      const left = workflow.getHandle(idOf('left-0'))
      await until('it waits in a workflow of its own', async () => {
        const described = await left.describe().catch(() => undefined)
        return described?.typedSearchAttributes.getAll().some(({ value }) => value === 'held')
      })
      await change(destination, { paused: false })
      return left
    },
    'parcel-steered-while-an-activity-waits': async () => {
      const destination = await destinationFor(failing(3))
      const handle = await send('steered-later', [destination], { initialMs: 1_000, maxMs: 6_000 })
      await until('a second attempt failed', async () =>
        (await handle.describe()).raw.pendingActivities?.some(({ lastFailure }) => lastFailure),
      )
      await steer(handle, 'steered-later-2', 'cancel')
      await steer(handle, 'steered-later-0', 'retry')
      return handle
    },
    'parcel-cancelled': async () => {
      const handle = await send('cancelled', [await destinationFor([down])], { maxMs: 200 })
      await until('a second attempt failed', async () =>
        (await handle.describe()).raw.pendingActivities?.some(({ lastFailure }) => lastFailure),
      )
      await handle.cancel()
      return handle
    },
    'parcel-window-over': async () =>
      send('window', [await destinationFor([down])], { windowMs: 2_000, initialMs: 20_000, maxMs: 20_000 }),
    'parcel-window-over-at-one-endpoint': async () => {
      const destination = await destinationFor([down], failing(7))
      const [, patient] = destination.settings.webhooks
      Object.assign(patient ?? {}, { retryWindowHours: 1, retryPauses: { firstSeconds: 1, maxSeconds: 10 } })
      return send('own-endpoint-window', [destination], { windowMs: 3_000 })
    },
    'parcel-window-over-while-another-destination-holds-it': async () => {
      const [given, held] = [await destinationFor([down]), await destinationFor([ok])]
      await change(held, { paused: true })
      const handle = await send('window-beside-hold', [given, held], { windowMs: 3_000 })
      await until('its end at the one is told', async () => {
        const { events } = await handle.fetchHistory()
        const scheduled = (events ?? []).map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name)
        return (
          scheduled.lastIndexOf('recordParcel') > scheduled.lastIndexOf('retryInParcel') &&
          scheduled.includes('retryInParcel')
        )
      })
      await change(held, { paused: false })
      await handle.signal(signals.destinationChanged, held.id)
      return handle
    },
    'parcel-exhausted': async () => send('exhausted', [await destinationFor([down])], { windowMs: 3_000 }),
    'parcel-discarded-while-retrying': async () => {
      const destination = await destinationFor([down])
      const handle = await send('discarded', [destination], { maxMs: 500 })
      await untilTimers(handle, 1)
      await change(destination, { enabled: false })
      return handle
    },
  }
}
