/** Expressions of mappings, held against what an expression must be before it is saved. */

import jsonata from 'jsonata'

/** Functions that come to something else each time, so that attempts would differ; and `$eval`, by which they could be reached. */
export const unavailableFunctions: readonly string[] = ['now', 'millis', 'random', 'shuffle', 'eval']

/** What is wrong with an expression, in words that follow its name; undefined: nothing. */
export function problemOfExpression(expression: string): string | undefined {
  try {
    const used = unavailableFunctions.find((name) => usesVariable(jsonata(expression).ast(), name))
    return used === undefined ? undefined : `must not use $${used}: it is not the same in every attempt`
  } catch (error) {
    const { message = 'it cannot be read', position } = error as { message?: string; position?: number }
    return `must be JSONata: ${message}${position === undefined ? '' : ` at character ${position}`}`
  }
}

function usesVariable(node: unknown, name: string): boolean {
  if (typeof node !== 'object' || node === null) return false
  const { type, value } = node as { type?: unknown; value?: unknown }
  return (type === 'variable' && value === name) || Object.values(node).some((part) => usesVariable(part, name))
}
