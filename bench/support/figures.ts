/** Small statistics and their print-out. */

/** The value below which `share` (0 to 1) of the values lie. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN
}

export interface Figure {
  name: string
  value: number
  unit: string
  /** What it should be, when there is a goal. */
  goal?: { least?: number; most?: number }
}

/** Prints a table, then one line of JSON. */
export function report(title: string, figures: readonly Figure[]): void {
  const rows = figures.map(({ name, value, unit, goal }) => ({
    figure: name,
    value: `${Math.round(value * 100) / 100} ${unit}`.trim(),
    goal: goal === undefined ? '' : `${goal.least !== undefined ? `at least ${goal.least}` : `at most ${goal.most}`}`,
    met:
      goal === undefined ? '' : value >= (goal.least ?? -Infinity) && value <= (goal.most ?? Infinity) ? 'yes' : 'NO',
  }))
  console.log(`\n${title}`)
  console.table(rows)
  console.log(JSON.stringify({ title, figures }))
}
