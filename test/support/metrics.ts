/** The table of metrics in `docs/metrics.md`. */

import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'

export interface DocumentedMetric {
  type: string
  labels: string[]
  /** What its meaning sets apart as code: values of labels, among others. */
  terms: string[]
}

/** @returns by name */
export async function documentedMetrics(): Promise<Map<string, DocumentedMetric>> {
  const text = await readFile(resolve(import.meta.dirname, '../../docs/metrics.md'), 'utf8')
  return new Map(
    [...text.matchAll(/^\| `(postrider_\w+)` +\| (\w+) +\| (.*?) +\|(.*)$/gm)].map(
      ([, name = '', type = '', labels = '', meaning = '']) => [
        name,
        { type, labels: wordsIn(labels), terms: wordsIn(meaning) },
      ],
    ),
  )
}

const wordsIn = (text: string): string[] => [...text.matchAll(/`(\w+)`/g)].map(([, word = '']) => word)
