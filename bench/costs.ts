/** `npm run bench:costs`: what encryption, metrics and tracing cost of the saturated rate. The program as it is, and copies of it without
 *  one of them, take the same flood in turn; the program with tracing on is shown beside them. */

import { parseArgs } from 'node:util'
import { startOtlpReceiver } from '../test/support/otlp-receiver.ts'
import { builtCommand } from '../test/support/built-command.ts'
import { openReport, quantile } from './support/figures.ts'
import { postFlood, type Flood } from './support/flood.ts'
import { startNode } from './support/node.ts'
import { makeVariant, type Variant } from './support/variant.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    events: { type: 'string', default: '10000' },
    /** `off`: each event has a workflow of its own. */
    parcels: { type: 'string', default: 'auto' },
  },
})

/** What each build leaves out, by files of the build. */
const leftOut = {
  encryption: {
    'src/temporal/data-converter.js': `
      import { fileURLToPath } from 'node:url'
      export const failureConverterPath = fileURLToPath(new URL('failure-converter.cjs', import.meta.url))
      export const dataConverter = () => ({ failureConverterPath })`,
  },
  metrics: {
    'node_modules/prom-client/package.json': JSON.stringify({
      name: 'prom-client',
      type: 'module',
      exports: './index.js',
    }),
    'node_modules/prom-client/index.js': `
      class Metric { inc() {} dec() {} set() {} observe() {} remove() {} reset() {} labels() { return this } startTimer() { return () => 0 } }
      export { Metric as Counter, Metric as Gauge, Metric as Histogram, Metric as Summary }
      export class Registry { contentType = 'text/plain'; metrics = async () => ''; getMetricsAsJSON = async () => []; registerMetric() {}; setDefaultLabels() {} }
      export const register = new Registry()
      export const collectDefaultMetrics = () => {}`,
  },
  'tracing that is off': {
    'activities/trace-attempts.js': 'export const traceAttempt = () => undefined',
  },
} as const

/** The most that it may cost, in percent. */
const goals: Record<string, number> = { encryption: 10, metrics: 3 }

const report = openReport(`Costs, parcels ${values.parcels}`)
await using receiver = await startOtlpReceiver()
const settings = { POSTRIDER_PARCELS: values.parcels }
const builds = new Map([
  ['all', { program: builtCommand, settings }],
  ['tracing', { program: builtCommand, settings: { ...settings, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url } }],
])
const variants: Variant[] = []
const floods = new Map<string, Flood[]>()
try {
  for (const [name, files] of Object.entries(leftOut)) {
    const variant = await makeVariant(`without-${name.replaceAll(' ', '-')}`, files)
    variants.push(variant)
    builds.set(name, { program: variant.program, settings })
  }
  for (let round = 0; round < Number(values.rounds); round++) {
    const names = [...builds.keys()]
    const first = round % names.length
    // Each goes first in turn.
    for (const name of [...names.slice(first), ...names.slice(0, first)])
      floods.set(name, [...(floods.get(name) ?? []), await measure(name)])
  }
} finally {
  await Promise.all(variants.map((variant) => variant.remove()))
}
for (const name of builds.keys()) tell(name)
report.close()

async function measure(name: string): Promise<Flood> {
  const { program, settings: environment } = builds.get(name) ?? { program: builtCommand, settings }
  const node = await startNode(environment, undefined, program)
  try {
    const events = Number(values.events)
    await postFlood(node, { batchSize: 1, events: Math.ceil(events / 5), prefix: 'warm' })
    const flood = await postFlood(node, { batchSize: 1, events, prefix: 'flood' })
    console.log(name, flood)
    return flood
  } finally {
    await node.stop()
  }
}

function tell(name: string): void {
  const median = (of: (flood: Flood) => number, build = name): number =>
    quantile((floods.get(build) ?? []).map(of), 0.5)
  const rate = ({ deliveredPerSecond }: Flood): number => deliveredPerSecond
  const cost = ({ processorMs }: Flood): number => processorMs
  const without = name in leftOut
  const title = name === 'all' ? 'as it is' : `${without ? 'without' : 'with'} ${name}`
  report.add(`${title}: delivered`, median(rate), 'events/s')
  report.add(`${title}: processor`, median(cost), 'ms an event')
  if (name === 'all') return
  const [more, less] = without ? ['all', name] : [name, 'all']
  const goal = goals[name] === undefined ? undefined : { most: goals[name] }
  report.add(`${name}: rate lost`, (1 - median(rate, more) / median(rate, less)) * 100, '%', goal)
  report.add(`${name}: processor added`, (median(cost, more) / median(cost, less) - 1) * 100, '%')
}
