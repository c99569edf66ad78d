/** Small statistics and their print-out. */

/** The value below which `share` (0 to 1) of the values lie. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN
}

/** What a figure should be. */
export interface Goal {
  least?: number
  most?: number
}

export interface Figure {
  name: string
  value: number
  unit: string
  goal?: Goal
}

/** Figures of one bench: each is printed as it is known, since a bench takes minutes and may be stopped midway. */
export interface Report {
  add: (name: string, value: number, unit: string, goal?: Goal) => void
  /** Prints a table, then one line of JSON. */
  close: () => void
}

export function openReport(title: string): Report {
  const figures: Figure[] = []
  const rowOf = ({ name, value, unit, goal }: Figure): Record<string, string> => ({
    figure: name,
    value: `${Math.round(value * 100) / 100} ${unit}`.trim(),
    goal: goal === undefined ? '' : goal.least !== undefined ? `at least ${goal.least}` : `at most ${goal.most}`,
    met:
      goal === undefined ? '' : value >= (goal.least ?? -Infinity) && value <= (goal.most ?? Infinity) ? 'yes' : 'NO',
  })
  return {
    add(name, value, unit, goal) {
      const figure = { name, value, unit, ...(goal !== undefined && { goal }) }
      figures.push(figure)
      console.log(Object.values(rowOf(figure)).join('  ').trimEnd())
    },
    close() {
      console.log(`\n${title}`)
      console.table(figures.map(rowOf))
      console.log(JSON.stringify({ title, figures }))
    },
  }
}
