/** What Prometheus is told, as `docs/metrics.md` has it; and the port of its own for everything but the ingest API. */

import { readFile } from 'node:fs/promises'
import { onTestFinished, afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packageVersion } from '../../src/package-version.ts'
import { findFreePorts } from '../../src/ports.ts'
import type { DestinationView } from '../../src/schemas/destination.ts'
import { makeDataFolder, startTestApp, type TestApp } from '../support/app.ts'
import { startNodeProcess } from '../support/node-process.ts'
import { documentedMetrics } from '../support/metrics.ts'
import { startReceiver } from '../support/receiver.ts'
import { startTcpRelay } from '../support/tcp-relay.ts'
import { createNamespace, temporalAddress } from '../support/temporal.ts'
import { until } from '../support/wait.ts'

const limitMs = 60_000

let node: TestApp
beforeAll(async () => {
  node = await startTestApp({ environment: { POSTRIDER_ADMIN_PORT: '0' } })
})
afterAll(() => node?.[Symbol.asyncDispose]())

const readMetrics = async (): Promise<string> => (await fetch(`${node.url}/metrics`)).text()

/** Value of the series whose line begins so; 0 without one. */
const valueIn = (metrics: string, series: string): number =>
  Number(
    metrics
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.slice(series.length) ?? 0,
  )

const untilValue = (series: string, value: number): Promise<unknown> =>
  until(`${series} is ${value}`, async () => valueIn(await readMetrics(), series) === value, limitMs)

describe('/metrics', { timeout: 180_000 }, () => {
  it('has exactly what the documentation lists, with its types and labels', async () => {
    const documented = await documentedMetrics()
    const lines = (await readMetrics()).split('\n')
    const types = lines.flatMap((line) => {
      const [, name = '', type = ''] = /^# TYPE (postrider_\S+) (\w+)$/.exec(line) ?? []
      return name === '' ? [] : [[name, type]]
    })
    expect(Object.fromEntries(types)).toEqual(
      Object.fromEntries([...documented].map(([name, { type }]) => [name, type])),
    )
    for (const line of lines) {
      const [, series = '', labels = ''] = /^(postrider_\w+)(?:\{(.*)\})? /.exec(line) ?? []
      if (series === '') continue
      const name = [series, series.replace(/_(bucket|sum|count)$/, '')].find((one) => documented.has(one)) ?? series
      const known = [...(documented.get(name)?.labels ?? []), 'le']
      expect(known).toEqual(expect.arrayContaining([...labels.matchAll(/(\w+)="/g)].map(([, label]) => label)))
    }
    expect(lines.join('\n')).toContain('process_cpu_seconds_total')
  })

  it('has what alerts count before it happens: the first would be no increase otherwise', async () => {
    const metrics = await readMetrics()
    for (const series of [
      'postrider_audience_syncs_total{status="failed"}',
      'postrider_audience_syncs_total{status="refused"}',
      'postrider_events_total{fate="rejected",reason="inbox_full"}',
    ])
      expect(metrics).toContain(`\n${series} 0\n`)
  })

  it('tells of attempts, their times and their answers', async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    const { id, settings } = await node.connect([source], [receiver.url])
    const endpointId = settings.webhooks[0]?.id ?? ''
    const before = await readMetrics()
    expect((await node.post('/track', source.writeKey, { userId: 'u1', event: 'Counted' })).status).toBe(200)
    await untilValue(
      `postrider_attempts_total{destination_id="${id}",endpoint_id="${endpointId}",outcome="delivered"}`,
      1,
    )
    const after = await readMetrics()
    const grown = (series: string): number => valueIn(after, series) - valueIn(before, series)
    expect(grown('postrider_first_attempt_delay_seconds_count')).toBe(1)
    expect(grown('postrider_delivery_latency_seconds_count')).toBe(1)
    expect(grown('postrider_attempt_duration_seconds_count{outcome="delivered"}')).toBe(1)
    expect(grown('postrider_ingest_duration_seconds_count')).toBe(1)
    expect(grown('postrider_http_requests_total{method="POST",route="/v1/track",status="200"}')).toBe(1)
    expect(valueIn(after, 'postrider_settings_version')).toBeGreaterThan(0)
    expect(
      valueIn(after, `postrider_build_info{version="${packageVersion()}",node_version="${process.version}"}`),
    ).toBe(1)
    const idle = 'postrider_database_connections{state="idle"}'
    await until('a connection has nothing to do', async () => valueIn(await readMetrics(), idle) > 0, limitMs)
  })

  it('counts the first attempt at an endpoint once, however many follow', async () => {
    await using receiver = await startReceiver()
    receiver.answerInTurn({ status: 503 }, { status: 503 }, { status: 200 })
    const source = await node.createSource()
    const { id, settings } = await node.connect([source], [receiver.url])
    const attempts = (outcome: string): string =>
      `postrider_attempts_total{destination_id="${id}",endpoint_id="${settings.webhooks[0]?.id}",outcome="${outcome}"}`
    const first = 'postrider_first_attempt_delay_seconds_count'
    const before = valueIn(await readMetrics(), first)
    await node.post('/track', source.writeKey, { userId: 'u1', event: 'Repeated' })
    await untilValue(attempts('delivered'), 1)
    await untilValue(attempts('unavailable'), 2)
    expect(valueIn(await readMetrics(), first) - before).toBe(1)
  })

  it('tells how many deliveries are held, and of no more when they are over', async () => {
    await using receiver = await startReceiver()
    const source = await node.createSource()
    const { id } = await node.connect([source], [receiver.url])
    await node.api('PATCH', `/destinations/${id}`, { paused: true })
    await node.post('/track', source.writeKey, { userId: 'u1', event: 'Held' })
    await untilValue('postrider_deliveries{status="held"}', 1)
    await node.api('PATCH', `/destinations/${id}`, { paused: false })
    await untilValue('postrider_deliveries{status="held"}', 0)
    expect(await readMetrics()).toContain('postrider_deliveries{status="held"} 0')
  })

  it(
    'tells deliveries that wait for an endpoint that is down from those that are retried',
    { timeout: 180_000 },
    async () => {
      await using ill = await startReceiver()
      await using gone = await startReceiver()
      ill.answer({ status: 503 })
      gone.answer({ status: 503 })
      const source = await node.createSource()
      const destination = await node.connect([source], [gone.url])
      const send = () => node.post('/track', source.writeKey, { userId: 'u1', event: 'Waits' })
      let sent = 0
      await until('it is down', async () => {
        await send()
        sent++
        const { endpoints } = (await node.api<DestinationView>('GET', `/destinations/${destination.id}`)).body
        return endpoints[0]?.state === 'down'
      })
      for (let n = 0; n < 50; n++) await send()
      sent += 50
      const other = await node.createSource()
      await node.connect([other], [ill.url])
      await node.post('/track', other.writeKey, { userId: 'u1', event: 'Retried' })
      // Once enough of them wait to find out whether it is back, the others stay in the inbox.
      await until(
        'all of them wait',
        async () => {
          const metrics = await readMetrics()
          const waiting = valueIn(metrics, 'postrider_deliveries{status="waiting"}')
          return waiting > 0 && waiting + valueIn(metrics, 'postrider_inbox_events') === sent
        },
        limitMs,
      )
      await untilValue('postrider_deliveries{status="retrying"}', 1)
      await until(
        'those of the inbox are told, and for how long the oldest has waited',
        async () => {
          const metrics = await readMetrics()
          const inInbox = valueIn(metrics, 'postrider_inbox_events')
          const atDown = valueIn(metrics, 'postrider_inbox_events_at_down_endpoints')
          return inInbox > 0 && atDown === inInbox && valueIn(metrics, 'postrider_inbox_oldest_seconds') > 1
        },
        limitMs,
      )
      gone.answer({})
      ill.answer({})
      await untilValue('postrider_deliveries{status="waiting"}', 0)
      await untilValue('postrider_deliveries{status="retrying"}', 0)
    },
  )
})

describe('while Temporal does not answer', { timeout: 180_000 }, () => {
  it('its figures are left out, by which an alert knows, and the others are there', async () => {
    await using relay = await startTcpRelay(Number(temporalAddress().split(':')[1]))
    await using other = await startTestApp({ environment: { TEMPORAL_ADDRESS: `127.0.0.1:${relay.port}` } })
    const names = async (): Promise<string[]> => {
      const lines = (await (await fetch(`${other.url}/metrics`)).text()).split('\n')
      return lines.map((line) => /^postrider_\w+/.exec(line)?.[0]).filter((name) => name !== undefined)
    }
    const has = async (name: string): Promise<boolean> => (await names()).includes(name)
    await until('deliveries are counted', () => has('postrider_deliveries'), limitMs)
    for (const take of [() => relay.shut(), () => relay.freeze()]) {
      take()
      await until('deliveries are left out', async () => !(await has('postrider_deliveries')), limitMs)
      expect(await names()).toEqual(expect.arrayContaining(['postrider_inbox_events', 'postrider_build_info']))
      relay.open()
      await until('deliveries are counted again', () => has('postrider_deliveries'), limitMs)
    }
  })
})

describe('with a port of its own for everything else', () => {
  it('the port of the ingest API shows that and health alone', async () => {
    const { ingestUrl } = node.app
    expect(ingestUrl).not.toBe(node.url)
    const source = await node.createSource()
    const authorization = `Basic ${btoa(`${source.writeKey}:`)}`
    const track = await fetch(`${ingestUrl}/v1/track`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ userId: 'u1', event: 'Here' }),
    })
    expect(track.status).toBe(200)
    expect((await fetch(`${ingestUrl}/healthz`)).status).toBe(200)
    const others = ['/metrics', '/docs', '/openapi.json', '/api/v1/sources', '/', '/login']
    const answers = await Promise.all(others.map((path) => fetch(`${ingestUrl}${path}`)))
    expect(answers.map(({ status }) => status)).toEqual(others.map(() => 404))
    const described = { '/v1/track': {}, '/api/v1/sources': {}, '/metrics': {} }
    expect(await (await fetch(`${node.url}/openapi.json`)).json()).toMatchObject({ paths: described })
  })
})

describe("the figures of Temporal's SDK", { timeout: 180_000 }, () => {
  it('stand at an address of their own, by the names of the pages', async () => {
    const [port = 0] = await findFreePorts('127.0.0.1', 1)
    const address = `127.0.0.1:${port}`
    const process = await startNodeProcess({
      namespace: await createNamespace(),
      dataDir: await makeDataFolder(),
      environment: { POSTRIDER_TEMPORAL_METRICS: address, POSTRIDER_RETRY_INITIAL: '500ms' },
    })
    onTestFinished(() => process.stop())
    const read = async (): Promise<string> => (await fetch(`http://${address}/metrics`)).text()
    await until('the worker polls', async () => (await read()).includes('temporal_num_pollers'), limitMs)
    await using receiver = await startReceiver()
    // The first round passes no queue, a retry does.
    receiver.answerInTurn({ status: 503 }, {})
    const source = await process.createSource()
    await process.connect([source], [receiver.url])
    await process.post('/track', source.writeKey, { userId: 'u1', event: 'E' })
    const scaling = await readFile(new URL('../../docs/scaling.md', import.meta.url), 'utf8')
    const named = [...scaling.matchAll(/`(temporal_\w+)`/g)].map(([, name = '']) => name)
    expect(named).not.toEqual([])
    for (const name of named)
      await until(`${name} is there`, async () => (await read()).includes(`# TYPE ${name} `), limitMs)
  })
})
