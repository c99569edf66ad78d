/** A filter as the form holds it, and back to what the API takes. */

import type { Filter, Rule, RuleOperator, Scalar } from '../../../../src/schemas/filter.ts'
import { nextKey } from './destination-form.ts'
import { readTyped, textOfTyped } from './typed-value.ts'

/** A comparison, or one that must not hold. */
export interface RuleValues {
  key: string
  isNot: boolean
  path: string
  op: RuleOperator
  /** As it is typed: `5` is a number, `"5"` a text. */
  value: string
  /** The values of `oneOf`, likewise. */
  values: string[]
}

export interface FilterValues {
  types: NonNullable<Filter['types']>
  events: string[]
  /** Whether all rules must hold, or any. */
  combine: 'all' | 'any'
  rules: RuleValues[]
  /** Percent of the users; empty: all. */
  samplePercent: number | ''
}

/** What the operators are called. */
export const operatorNames: Record<RuleOperator, string> = {
  equals: 'equals',
  oneOf: 'is one of',
  contains: 'contains',
  startsWith: 'begins with',
  glob: 'fits the pattern',
  greater: 'is greater than',
  less: 'is less than',
  exists: 'is there',
}

/** Their values are texts, whatever they look like. */
const textOperators: readonly RuleOperator[] = ['contains', 'startsWith', 'glob']

export const emptyRule = (): RuleValues => ({
  key: nextKey(),
  isNot: false,
  path: '',
  op: 'equals',
  value: '',
  values: [],
})

export const emptyFilter = (): FilterValues => ({
  types: [],
  events: [],
  combine: 'all',
  rules: [],
  samplePercent: '',
})

/** The form of a filter; undefined for one that is deeper than a form shows. */
export function toFilterValues(filter: Filter | null): FilterValues | undefined {
  const { types = [], events = [], match, sample } = filter ?? {}
  const values: FilterValues = {
    types,
    events,
    combine: match?.any === undefined ? 'all' : 'any',
    rules: (match === undefined ? [] : (match.all ?? match.any ?? [match])).map(toRuleValues),
    samplePercent: sample === undefined ? '' : toPercent(sample),
  }
  return JSON.stringify(toFilter(values)) === JSON.stringify(canonical(filter)) ? values : undefined
}

/** What the API takes; null: every event. */
export function toFilter({ types, events, combine, rules, samplePercent }: FilterValues): Filter | null {
  const filter: Filter = {
    ...(types.length > 0 && { types }),
    ...(events.length > 0 && { events }),
    ...(rules.length > 0 && { match: { [combine]: rules.map(toRule) } }),
    ...(samplePercent !== '' && { sample: toShare(samplePercent) }),
  }
  return Object.keys(filter).length === 0 ? null : filter
}

/** Four digits behind the point of a percentage. */
const precision = 1e6
const toPercent = (share: number): number => Math.round(share * precision) / (precision / 100)
const toShare = (percent: number): number => Math.round((percent * precision) / 100) / precision

function toRuleValues(rule: Rule): RuleValues {
  const { path = '', op = 'equals', value } = rule.not ?? rule
  return {
    key: nextKey(),
    isNot: rule.not !== undefined,
    path,
    op,
    value: value === undefined || Array.isArray(value) ? '' : textOf(value, op),
    values: Array.isArray(value) ? value.map((one) => textOf(one, op)) : [],
  }
}

function toRule({ isNot, path, op, value, values }: RuleValues): Rule {
  const rule: Rule = {
    path: path.trim(),
    op,
    ...(op !== 'exists' && {
      value: op === 'oneOf' ? values.map(readTyped) : textOperators.includes(op) ? value : readTyped(value),
    }),
  }
  return isNot ? { not: rule } : rule
}

const textOf = (value: Scalar, op: RuleOperator): string =>
  typeof value === 'string' && textOperators.includes(op) ? value : textOfTyped(value)

/** The filter with its members in the order in which the form writes them. */
function canonical(filter: Filter | null): unknown {
  if (filter === null) return null
  const { types, events, match, sample } = filter
  const rules = match === undefined ? undefined : match.all || match.any ? match : { all: [match] }
  return Object.keys(filter).length === 0
    ? null
    : {
        types,
        events,
        match: rules && {
          ...(rules.all && { all: rules.all.map(inOrder) }),
          ...(rules.any && { any: rules.any.map(inOrder) }),
        },
        sample,
      }
}

const inOrder = ({ all, any, not, path, op, value }: Rule): unknown => ({
  all,
  any,
  not: not && inOrder(not),
  path,
  op,
  value,
})

/** The form's field for a member of the filter that the server found wrong. */
export function filterField(path: string): string | undefined {
  const [, index, member] =
    /^filter\.match\.(?:all|any)\[(\d+)\](?:\.not)?(?:\.(path|op|value)(?:\[\d+\])?)?$/.exec(path) ?? []
  if (index !== undefined) return `rules.${index}.${member ?? 'path'}`
  const [, top] = /^filter\.(types|events|sample)/.exec(path) ?? []
  return top === 'sample' ? 'samplePercent' : top
}
