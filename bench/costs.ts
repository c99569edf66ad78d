/** `npm run bench:costs`: what encryption, metrics and tracing cost of the saturated rate. The program as it is, and copies of it without
 *  one of them, run side by side and take small floods in turn, so that each is compared with what the machine gave in the same round; the program with
 *  tracing on is shown beside them. */

import { parseArgs } from 'node:util'
import { startOtlpReceiver } from '../test/support/otlp-receiver.ts'
import { builtCommand } from '../test/support/built-command.ts'
import { openReport, quantile } from './support/figures.ts'
import { postFlood, type Flood } from './support/flood.ts'
import { startNode, type BenchNode } from './support/node.ts'
import { makeVariant, type Variant } from './support/variant.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    events: { type: 'string', default: '2000' },
    /** `off`: each event has a workflow of its own. */
    parcels: { type: 'string', default: 'auto' },
    /** How many users the events are of. */
    users: { type: 'string', default: '1' },
    /** The only thing that is left out; all in turn unless given. */
    without: { type: 'string' },
  },
})

/** No event is sealed with the keys of its users, and none are made. */
const withoutUserKeys = {
  'src/temporal/sealed-messages.js': `
    import { createSealedMessages as create } from '../../../dist/src/temporal/sealed-messages.js'
    export * from '../../../dist/src/temporal/sealed-messages.js'
    export const createSealedMessages = () => ({ ...create(), sealsFor: async (events) => events.map(() => undefined) })`,
  'src/deletions/user-keys.js': `
    import { createUserKeys as create } from '../../../dist/src/deletions/user-keys.js'
    export const createUserKeys = (dependencies) => ({ ...create(dependencies), draft: () => ({ keys: [], note() {} }) })`,
}

/** What each build leaves out, by files of the build. */
const leftOut = {
  encryption: {
    'src/temporal/data-converter.js': `
      import { fileURLToPath } from 'node:url'
      export const failureConverterPath = fileURLToPath(new URL('failure-converter.cjs', import.meta.url))
      export const dataConverter = () => ({ failureConverterPath })`,
    ...withoutUserKeys,
  },
  'keys of users': withoutUserKeys,
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
const builds = new Map<string, { program: string; settings: Record<string, string> }>([
  ['all', { program: builtCommand, settings }],
])
if (values.without === undefined)
  builds.set('tracing', { program: builtCommand, settings: { ...settings, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url } })
const variants: Variant[] = []
const nodes = new Map<string, BenchNode>()
const floods = new Map<string, Flood[]>()
try {
  for (const [name, files] of Object.entries(leftOut)) {
    if (values.without !== undefined && values.without !== name) continue
    const variant = await makeVariant(`without-${name.replaceAll(' ', '-')}`, files)
    variants.push(variant)
    builds.set(name, { program: variant.program, settings })
  }
  for (const [name, build] of builds) {
    const node = await startNode(build.settings, undefined, build.program)
    nodes.set(name, node)
    await postFlood(node, { batchSize: 1, events: Number(values.events), prefix: 'warm' })
  }
  const names = [...builds.keys()]
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const name of names) floods.set(name, [...(floods.get(name) ?? []), await measure(name, round)])
    // Each goes first in turn.
    names.push(...names.splice(0, 1))
  }
} finally {
  await Promise.all([...nodes.values()].map((node) => node.stop()))
  await Promise.all(variants.map((variant) => variant.remove()))
}
for (const name of builds.keys()) tell(name)
report.close()

function measure(name: string, round: number): Promise<Flood> {
  const node = nodes.get(name)
  if (node === undefined) throw new Error(`no node runs ${name}`)
  const { events, users } = values
  return postFlood(node, { batchSize: 1, events: Number(events), prefix: `flood-${round}`, users: Number(users) })
}

function tell(name: string): void {
  const of = (figure: keyof Flood, build: string): number[] => (floods.get(build) ?? []).map((flood) => flood[figure])
  const without = name in leftOut
  const title = name === 'all' ? 'as it is' : `${without ? 'without' : 'with'} ${name}`
  report.add(`${title}: delivered`, quantile(of('deliveredPerSecond', name), 0.5), 'events/s')
  report.add(`${title}: processor`, quantile(of('processorMs', name), 0.5), 'ms an event')
  if (name === 'all') return
  const [more, less] = without ? ['all', name] : [name, 'all']
  /** Of the rounds, each compared within itself. */
  const ratio = (figure: keyof Flood): number => {
    const others = of(figure, less)
    return quantile(
      of(figure, more).map((value, round) => value / (others[round] ?? value)),
      0.5,
    )
  }
  const goal = goals[name] === undefined ? undefined : { most: goals[name] }
  report.add(`${name}: rate lost`, (1 - ratio('deliveredPerSecond')) * 100, '%', goal)
  report.add(`${name}: processor added`, (ratio('processorMs') - 1) * 100, '%')
}
