/** Records the history of a delivery on every path, from a real run, for `test/replay.test.ts`:
 *  `npx tsx scripts/record-histories.ts`. Run it when the workflow has a new path; keep the histories of released
 *  versions, which running deliveries may still have. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WorkflowHandle } from '@temporalio/client'
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { pino } from 'pino'
import { startApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import { signals, type DeliverEventInput, type RetrySchedule } from '../src/contracts/delivery.ts'
import { eventWorkflowId } from '../src/contracts/names.ts'
import type { Destination } from '../src/schemas/destination.ts'
import { startDelivery } from '../src/temporal/start-delivery.ts'
import '../test/support/quiet-temporal.ts'
import { startReceiver, type Answer, type Receiver } from '../test/support/receiver.ts'
import { until } from '../test/support/wait.ts'

/** More than the first attempts that may be in flight to one endpoint. */
const moreThanTurns = 12

const folder = join(import.meta.dirname, '../test/histories')
const dataDir = await mkdtemp(join(tmpdir(), 'postrider-record-'))
const environment = {
  ...process.env,
  PORT: '0',
  POSTRIDER_DATA_DIR: dataDir,
  POSTRIDER_TEMPORAL_PORT: '0',
  POSTRIDER_TEMPORAL_UI_PORT: '0',
  POSTRIDER_QUICKSTART_PORT: '0',
}
const app = await startApp(readConfig(environment), {
  logger: pino({ level: 'error' }),
  environment,
  onProgress: () => {},
  onReceived: () => {},
  signal: new AbortController().signal,
})
const receivers: Receiver[] = []

const call = async <Body>(method: string, path: string, body: unknown): Promise<Body> => {
  const response = await fetch(`${app.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${app.adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as Body
}

const destinationFor = async (...answers: Answer[][]): Promise<Destination> => {
  const webhooks: { url: string }[] = []
  for (const inTurn of answers) {
    const receiver = await startReceiver()
    receiver.answerInTurn(...inTurn)
    receivers.push(receiver)
    webhooks.push({ url: receiver.url })
  }
  return call('POST', '/destinations', { name: 'Recorded', type: 'webhooks', settings: { webhooks } })
}

const change = (destination: Destination, patch: object) => call('PATCH', `/destinations/${destination.id}`, patch)

const deliver = async (
  messageId: string,
  destination: Destination,
  retry: Partial<RetrySchedule> = {},
): Promise<WorkflowHandle> => {
  const input: DeliverEventInput = {
    sourceId: 'src_recorded',
    messageId,
    message: { version: 1, type: 'track', messageId, timestamp: '2026-01-01T00:00:00.000Z', userId: 'u1', event: 'E' },
    targets: [
      {
        destinationId: destination.id,
        endpointIds: destination.settings.webhooks.map(({ id }) => id),
        successPolicy: destination.successPolicy,
      },
    ],
    retry: { windowMs: 60_000, initialMs: 200, maxMs: 1_000, ...retry },
  }
  await startDelivery(app.temporal, input)
  return app.temporal.client.workflow.getHandle(eventWorkflowId(input.sourceId, messageId))
}

const untilOutcome = (handle: WorkflowHandle, outcome: string) =>
  until(`${handle.workflowId} is ${outcome}`, async () => {
    const { typedSearchAttributes } = await handle.describe()
    return typedSearchAttributes.getAll().some(({ value }) => value === outcome)
  })

const down: Answer = { status: 503 }
const ok: Answer = {}

/** Path → starts a delivery that takes it; recorded once it is closed. */
const paths: Record<string, () => Promise<WorkflowHandle>> = {
  'delivered-at-once': async () => deliver('at-once', await destinationFor([ok], [down])),
  'retried-then-delivered': async () => deliver('retried', await destinationFor([down, down, ok])),
  'first-success-stops-the-rest': async () =>
    deliver('first-success', await destinationFor([down, down, ok], [down], [{ status: 404 }])),
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
  'retried-now': async () => {
    const handle = await deliver('now', await destinationFor([down, ok]), { initialMs: 30_000, maxMs: 30_000 })
    await untilOutcome(handle, 'retrying')
    await handle.signal(signals.retryNow, { by: 'operator', why: 'mended' })
    return handle
  },
  'retried-now-beside-a-waiting-retry': async () => {
    const handle = await deliver(
      'beside',
      await destinationFor([down, { ...down, headers: { 'retry-after': '30' } }, ok]),
    )
    await until('the second attempt failed', async () =>
      (await handle.describe()).raw.pendingActivities?.some(({ lastFailure }) => lastFailure),
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

/** Without what tells of the machine that recorded it. */
const anonymous = (key: string, value: unknown): unknown => {
  if (key === 'stackTrace') return ''
  return typeof value === 'string' ? value.replaceAll(`${process.pid}@${hostname()}`, 'node') : value
}

try {
  for (const [name, start] of Object.entries(paths)) {
    const handle = await start()
    const end = await handle.result().then(
      () => 'completed',
      (error: Error) => (error.cause instanceof Error ? error.cause.name : error.name),
    )
    const history: unknown = JSON.parse(historyToJSON(await handle.fetchHistory()))
    await writeFile(join(folder, `${name}.json`), `${JSON.stringify(history, anonymous, 1)}\n`)
    console.log(`${name}: ${end}`)
  }
} finally {
  await Promise.all(receivers.map((receiver) => receiver.close()))
  await app.stop()
  await rm(dataDir, { recursive: true, force: true })
}
process.exit(0)
