/** The expression of a mapping, held against what can be evaluated. */

import { AppError } from '../../errors.ts'
import { problemOfExpression } from '../../mapping/check-expression.ts'
import type { Mapping } from '../../schemas/mapping.ts'

/** @throws AppError bad_request when it cannot be */
export function checkMapping(mapping: Mapping | null | undefined): void {
  if (mapping?.expression === undefined) return
  const problem = problemOfExpression(mapping.expression)
  if (problem === undefined) return
  const path = 'mapping.expression'
  throw new AppError('bad_request', `${path} ${problem}`, { path })
}
