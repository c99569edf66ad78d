/** The alerts and the dashboard in `deploy/`: every query is PromQL, and names metrics and labels that a node has. */

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parser } from '@prometheus-io/lezer-promql'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { errorCatalog } from '../src/errors.ts'
import { createRegistry } from '../src/observation/registry.ts'
import { documentedMetrics, type DocumentedMetric } from './support/metrics.ts'

const read = (file: string): string => readFileSync(resolve(import.meta.dirname, '../deploy', file), 'utf8')

const RulesSchema = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({
          alert: z.string().regex(/^Postrider\w+$/),
          expr: z.string(),
          for: z.string().optional(),
          labels: z.object({ severity: z.enum(['critical', 'warning', 'info']) }),
          annotations: z.strictObject({ summary: z.string().min(10), runbook: z.string().min(30) }),
        }),
      ),
    }),
  ),
})
const { rules } = RulesSchema.parse(parse(read('prometheus/alerts.yml'))).groups[0] ?? { rules: [] }

const DashboardSchema = z.object({
  panels: z.array(
    z.object({
      title: z.string(),
      targets: z.array(z.object({ expr: z.string(), legendFormat: z.string() })).default([]),
    }),
  ),
})
const { panels } = DashboardSchema.parse(JSON.parse(read('grafana/postrider.json')))

const queries = [
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
]

/** By name: its labels, those that Prometheus adds to each included. */
async function knownSeries(): Promise<Map<string, string[]>> {
  const added = ['job', 'instance']
  const own = [...(await documentedMetrics())].flatMap(([name, { type, labels }]): [string, string[]][] =>
    type === 'histogram'
      ? ['bucket', 'sum', 'count'].map((part) => [`${name}_${part}`, [...labels, ...added, 'le']])
      : [[name, [...labels, ...added]]],
  )
  const metricNames = createRegistry('0')
    .getMetricsAsArray()
    .map(({ name }): [string, string[]] => [name, added])
  return new Map([['up', added], ...metricNames, ...own])
}

/** What is wrong with a query. */
function faultsOf(query: string, known: Map<string, string[]>): string[] {
  // Grafana fills it in.
  const text = query.replaceAll('$__rate_interval', '5m')
  const faults: string[] = []
  const names: string[] = []
  const labels: string[] = []
  parser.parse(text).iterate({
    enter({ type, from, to }) {
      const part = text.slice(from, to)
      if (type.isError) faults.push(`not PromQL at ${from}`)
      if (type.name === 'Identifier') names.push(part)
      if (type.name === 'LabelName') labels.push(part)
    },
  })
  const of = names.flatMap((name) => known.get(name) ?? [])
  return [
    ...faults,
    ...(names.length === 0 ? ['names no metric'] : []),
    ...names.filter((name) => !known.has(name)).map((name) => `${name} is no metric`),
    ...labels.filter((label) => !of.includes(label)).map((label) => `${label} is no label`),
  ]
}

it('each query can be answered', async () => {
  const known = await knownSeries()
  expect(rules.length).toBeGreaterThan(10)
  expect(queries.length - rules.length).toBeGreaterThan(20)
  for (const [name, query] of queries) expect([name, ...faultsOf(query, known)]).toEqual([name])
})

/** Values that a query asks for, and that no series has, by the documentation. */
function unknownValues(query: string, documented: Map<string, DocumentedMetric>): string[] {
  return [...query.matchAll(/\b(postrider_\w+?)(?:_bucket)?\{([^}]*)\}/g)].flatMap(([, name = '', matchers = '']) => {
    const terms = documented.get(name)?.terms ?? []
    const known = [...terms, ...Object.keys(errorCatalog)]
    return [...matchers.matchAll(/(\w+)=~?"([\w|]*)"/g)]
      .flatMap(([, , values = '']) => values.split('|'))
      .filter((value) => !known.includes(value))
      .map((value) => `${name} has no ${value}`)
  })
}

it('each query asks for values that series have', async () => {
  const documented = await documentedMetrics()
  for (const [name, query] of queries) expect([name, ...unknownValues(query, documented)]).toEqual([name])
  expect(unknownValues('postrider_deliveries{status="hold"}', documented)).toEqual(['postrider_deliveries has no hold'])
})

it('the page has a rule for the backlog that can be answered', async () => {
  const page = readFileSync(resolve(import.meta.dirname, '../docs/deployment.md'), 'utf8')
  const [, rule = ''] = /^ {2}```yaml\n( {2}rules:\n.*?)^ {2}```$/ms.exec(page) ?? []
  const { external } = z
    .object({
      rules: z.object({
        external: z.array(
          z.object({ seriesQuery: z.string(), name: z.object({ as: z.string() }), metricsQuery: z.string() }),
        ),
      }),
    })
    .parse(parse(rule)).rules
  const known = await knownSeries()
  const scaling = read('helm/templates/scaling.yaml')
  for (const { seriesQuery, name, metricsQuery } of external) {
    expect([...faultsOf(seriesQuery, known), ...faultsOf(metricsQuery, known)]).toEqual([])
    expect(scaling).toContain(`name: ${name.as} }`)
  }
  expect(external).toHaveLength(1)
})

it('the dashboard shows every metric of the documentation but what few look at', async () => {
  const all = queries.map(([, query]) => query).join(' ')
  const left = [...(await documentedMetrics()).keys()].filter((name) => !all.includes(name))
  expect(left).toEqual([
    'postrider_audience_rows_total',
    'postrider_audience_changes_total',
    'postrider_audience_syncs_begun',
  ])
})

it('a source that sends more than it may is not taken for a full inbox', () => {
  // Both are answered 429.
  expect(rules.filter(({ expr }) => /status=~?"4/.test(expr)).map(({ alert }) => alert)).toEqual([])
  const refuses = rules.find(({ alert }) => alert === 'PostriderRefusesEvents')
  expect(refuses?.expr).toContain('reason="inbox_full"')
})

it('finds what cannot be answered', async () => {
  const known = await knownSeries()
  expect(faultsOf('sum(rate(postrider_events_total[5m])', known)).toHaveLength(1)
  expect(faultsOf('postrider_event_total', known)).toEqual(['postrider_event_total is no metric'])
  expect(faultsOf('sum by (source) (postrider_events_total)', known)).toEqual(['source is no label'])
  expect(faultsOf('postrider_inbox_events{fate="x"} > 1', known)).toEqual(['fate is no label'])
})
