/** Draws the picture of docs/performance.md from the rows of its table: `npx tsx bench/results/picture.ts`. */

import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const docs = resolve(import.meta.dirname, '../../docs')

/** The rows that the picture shows, as their first column begins, and what each is called there. */
const bars = {
  'the reference': 'one regular activity for each event',
  'a workflow for each event': 'a workflow for each event',
  'single calls on 50 connections': 'single calls',
  'batches of 100': 'batches of 100',
}

const [width, rowHeight, labelWidth, valueWidth] = [720, 36, 250, 70]

/** Its colours follow those of the reader's system.
 *  @param page  the text of docs/performance.md
 *  @throws Error when a row is missing */
export function drawPerformance(page: string): string {
  const rows = Object.entries(bars).map(([begins, name]) => ({ name, rate: rateOf(page, begins) }))
  const most = Math.max(...rows.map(({ rate }) => rate))
  const lengthOf = (rate: number): number => Math.max(2, ((width - labelWidth - valueWidth) * rate) / most)
  const drawn = rows.map(({ name, rate }, index) => {
    const [y, length] = [index * rowHeight, Math.round(lengthOf(rate))]
    return [
      `  <text x="${labelWidth - 12}" y="${y + 23}" text-anchor="end">${name}</text>`,
      `  <rect x="${labelWidth}" y="${y + 6}" width="${length}" height="${rowHeight - 12}" rx="3"/>`,
      `  <text x="${labelWidth + length + 8}" y="${y + 23}">${rate.toLocaleString('en')}</text>`,
    ].join('\n')
  })
  const height = rows.length * rowHeight
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
  <title>Events delivered a second</title>
  <style>
    text { font: 14px system-ui, sans-serif; fill: #24292f }
    rect { fill: #0b7285 }
    @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } rect { fill: #3bc9db } }
  </style>
${drawn.join('\n')}
</svg>
`
}

/** The highest rate of a row. */
function rateOf(page: string, begins: string): number {
  const row = page.split('\n').find((line) => line.startsWith(`| ${begins}`))
  const rates = /\| ([^|]*) events\/s/.exec(row ?? '')?.[1]?.match(/[\d,]+/g)
  if (!rates) throw new Error(`docs/performance.md has no row "${begins}"`)
  return Math.max(...rates.map((rate) => Number(rate.replaceAll(',', ''))))
}

if (process.argv[1] === import.meta.filename)
  writeFileSync(
    join(docs, 'images/performance.svg'),
    drawPerformance(readFileSync(join(docs, 'performance.md'), 'utf8')),
  )
