/** The pages for people: their links lead somewhere, each alert has its section, and what is calculated fits what was measured. */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { capacityFor, eventCostMs, rateOf } from '../bench/capacity/model.ts'
import { drawPerformance } from '../bench/results/picture.ts'
import { documentedLogs } from './support/log-lines.ts'

const root = resolve(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

const pages = ['.', 'docs', 'api', 'client', 'cli', 'test/histories'].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => relative(root, join(root, folder, name))),
)

const withoutCode = (text: string): string =>
  text.replaceAll(/^(```|~~~).*?^\1$/gms, '').replaceAll(/`[^`\n]*`/g, 'code')

/** As they stand, from both ways of writing them. */
const linksIn = (text: string): string[] =>
  [...withoutCode(text).matchAll(/\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\[[^\]]+\]:\s*(\S+)/gm)].map(
    ([, inline, reference]) => inline ?? reference ?? '',
  )

/** What a heading is called in a link, as GitHub makes it. */
function anchorsIn(text: string): string[] {
  const seen = new Map<string, number>()
  return [...text.replaceAll(/^(```|~~~).*?^\1$/gms, '').matchAll(/^#{1,6} +(.*)$/gm)].map(([, heading = '']) => {
    const slug = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{Letter}\p{Number}\s_-]/gu, '')
      .trim()
      .replaceAll(/\s/g, '-')
    const count = seen.get(slug) ?? 0
    seen.set(slug, count + 1)
    return count === 0 ? slug : `${slug}-${count}`
  })
}

/** @returns links of a page that lead nowhere; those to other hosts are not followed */
function brokenLinks(page: string, text: string): string[] {
  return linksIn(text)
    .filter((link) => !/^[a-z]+:/i.test(link))
    .filter((link) => {
      const [path = '', anchor] = decodeURIComponent(link).split('#')
      const target = path === '' ? page : join(dirname(page), path)
      if (!existsSync(join(root, target))) return true
      if (anchor === undefined || !target.endsWith('.md')) return false
      return !anchorsIn(path === '' ? text : read(target)).includes(anchor)
    })
}

describe('pages', () => {
  it('are found', () => {
    expect(pages).toEqual(expect.arrayContaining(['README.md', 'CONTRIBUTING.md', 'docs/operations.md']))
  })

  it.each(pages)('%s links to what is there', (page) => {
    expect(brokenLinks(page, read(page))).toEqual([])
  })

  it('would be told of a link to nothing', () => {
    const text =
      '# A page\n\n[a](#a-page) [b](#b-page) [c](docs/no.md) [d](docs/api.md#nothing)\n\n[e]: docs/nothing.md\n'
    expect(brokenLinks('README.md', text)).toEqual(['#b-page', 'docs/no.md', 'docs/api.md#nothing', 'docs/nothing.md'])
  })

  it('are reached from the README, or from a page that is', () => {
    const reached = new Set(['README.md'])
    for (const page of reached)
      for (const link of linksIn(read(page)).filter((one) => !/^[a-z]+:/i.test(one))) {
        const target = join(dirname(page), link.split('#')[0] ?? '')
        if (pages.includes(target)) reached.add(target)
      }
    expect(pages.filter((page) => !reached.has(page))).toEqual([])
  })
})

describe('pictures', () => {
  const shownIn = (page: string): string[] =>
    [...read(page).matchAll(/(?:src|srcset)="([^"]+)"|!\[[^\]]*\]\(([^)\s]+)\)/g)]
      .map(([, html, markdown]) => html ?? markdown ?? '')
      .filter((link) => !/^[a-z]+:/i.test(link))
      .map((link) => join(dirname(page), link))
  const shown = new Set(pages.flatMap(shownIn))
  const there = readdirSync(join(root, 'docs/images')).map((name) => join('docs/images', name))

  it('are all shown on a page, and all that are shown are there', () => {
    expect([...shown].sort()).toEqual(there.sort())
  })

  it('of screens are there light and dark', () => {
    const screens = there.filter((file) => file.endsWith('.png'))
    const light = screens.filter((file) => !file.endsWith('-dark.png'))
    expect(light).not.toEqual([])
    expect(light.flatMap((file) => [file, file.replace('.png', '-dark.png')]).sort()).toEqual(screens.sort())
  })
})

describe('alerts', () => {
  interface Rules {
    groups: { rules: { alert: string; annotations: { runbook: string } }[] }[]
  }
  const rules = (parse(read('deploy/prometheus/alerts.yml')) as Rules).groups.flatMap((group) => group.rules)

  it('have a section each of what to do, and no section is of another', () => {
    const [, sections = ''] = read('docs/operations.md').split(/^## What to do when$/m)
    const headings = [...sections.matchAll(/^### (.*)$/gm)].map(([, heading]) => heading)
    expect(headings.sort()).toEqual(rules.map(({ alert }) => alert).sort())
  })

  it('name their section at the end of the runbook line', () => {
    for (const { alert, annotations } of rules)
      expect(annotations.runbook).toMatch(new RegExp(`\\. See docs/operations\\.md#${alert.toLowerCase()}$`))
  })
})

describe('docs/architecture.md', () => {
  it('has a room for each folder of the server', () => {
    const [, rooms = ''] = /^## Rooms$(.*?)^## /ms.exec(read('docs/architecture.md')) ?? []
    const folders = readdirSync(join(root, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory())
    const missing = folders.filter(({ name }) => !rooms.includes(`\`src/${name}\``)).map(({ name }) => name)
    expect(missing).toEqual([])
  })
})

describe('lines of the log', () => {
  it.each(['docs/operations.md', 'docs/privacy.md', 'deploy/prometheus/alerts.yml'])(
    'that %s names are those of docs/logs.md',
    (page) => {
      const { lines } = documentedLogs()
      const named = [...read(page).matchAll(/(?<!\$)\b[a-z]+\.[a-z]+_[a-z_]+\b/g)].map(([name]) => name)
      expect(named).not.toEqual([])
      expect(named.filter((name) => !lines.has(name))).toEqual([])
    },
  )
})

describe('docs/performance.md', () => {
  it('has a picture of the figures in its table', () => {
    expect(read('docs/images/performance.svg')).toBe(drawPerformance(read('docs/performance.md')))
  })
})

/** Measured points of docs/performance-notebook.md: events that share a workflow, processor time of one in milliseconds, delivered a second on 2 cores. */
const measured = [
  { perWorkflow: 1, ms: [15, 20], rate: [67, 88] },
  { perWorkflow: 37, ms: [0.88, 1.01], rate: [1_591, 1_765] },
  { perWorkflow: 100, ms: [0.64, 0.69], rate: [2_165, 2_269] },
] as const

describe('the model of docs/scaling.md', () => {
  it.each(measured)('fits what was measured with $perWorkflow events to a workflow', ({ perWorkflow, ms, rate }) => {
    expect(eventCostMs(perWorkflow)).toBeGreaterThanOrEqual(ms[0])
    expect(eventCostMs(perWorkflow)).toBeLessThanOrEqual(ms[1])
    // A tenth beside the measured span: the speed of such a machine changes by more within minutes.
    expect(rateOf(2, perWorkflow)).toBeGreaterThan(rate[0] * 0.9)
    expect(rateOf(2, perWorkflow)).toBeLessThan(rate[1] * 1.1)
  })

  it('rests on figures that stand in docs/performance-notebook.md', () => {
    const page = read('docs/performance-notebook.md')
    for (const figure of ['67 to 88', '15 to 20 ms', '1,765, 1,591', '0.88, 1.01 ms', '2,269, 2,165', '0.64, 0.69 ms'])
      expect(page).toContain(figure)
  })

  it('says what the table of the page says', () => {
    const rows = [
      ...read('docs/scaling.md').matchAll(/^\| ([\d,]+) +\| .* \| (\d+) +\| (\d+) +\| ([\d,]+) +\|$/gm),
    ].map((row) => row.slice(1).map((text) => Number(text.replaceAll(',', ''))))
    expect(rows.map(([rate]) => rate)).toEqual([50, 500, 1_000, 10_000, 100_000])
    for (const [rate = 0, ...told] of rows) {
      const { nodeCores, temporalCores, workflowsPerSecond } = capacityFor(rate, rate > 100 ? 100 : 1)
      expect([rate, ...told]).toEqual([rate, nodeCores, temporalCores, workflowsPerSecond])
    }
  })
})
