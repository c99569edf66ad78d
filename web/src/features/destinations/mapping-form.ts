/** A mapping as the form holds it, and back to what the API takes. */

import type { Mapping } from '../../../../src/schemas/mapping.ts'
import { nextKey } from './destination-form.ts'
import { readTyped, textOfTyped } from './typed-value.ts'

/** A path, and what is put there or where its value goes. */
export interface PlaceValues {
  key: string
  path: string
  /** Another path, or a value as it is typed: `5` is a number, `"5"` a text. */
  value: string
}

export interface MappingValues {
  keep: string[]
  drop: string[]
  hash: string[]
  rename: PlaceValues[]
  set: PlaceValues[]
  /** JSONata; empty: none. */
  expression: string
}

export const emptyPlace = (): PlaceValues => ({ key: nextKey(), path: '', value: '' })

export const emptyMapping = (): MappingValues => ({
  keep: [],
  drop: [],
  hash: [],
  rename: [],
  set: [],
  expression: '',
})

/** The form of a mapping; undefined for one that has what a form does not show. */
export function toMappingValues(mapping: Mapping | null): MappingValues | undefined {
  const { keep = [], drop = [], hash = [], rename = {}, set = {}, expression = '', ...others } = mapping ?? {}
  const lists = [keep, drop, hash]
  const isKnown =
    Object.keys(others).length === 0 &&
    typeof expression === 'string' &&
    lists.every(isListOfTexts) &&
    [rename, set].every(isObject)
  if (!isKnown) return undefined
  return {
    keep,
    drop,
    hash,
    rename: Object.entries(rename).map(([path, value]) => ({ key: nextKey(), path, value })),
    set: Object.entries(set).map(([path, value]) => ({ key: nextKey(), path, value: textOfTyped(value) })),
    expression,
  }
}

// What is typed as JSON may be anything.
const isListOfTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((entry) => typeof entry === 'string')
const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

type PlaceMember = 'rename' | 'set'

/** Of the texts in a row, those that are paths: each may stand there once. */
const pathsOf = { rename: ['path', 'value'], set: ['path'] } as const

/** The first row with the path that a row has, too.
 *  @returns its index; undefined where the row has it first, or there is no path */
export function rowBefore(
  values: MappingValues,
  member: PlaceMember,
  index: number,
  text: 'path' | 'value',
): number | undefined {
  if (!pathsOf[member].some((name) => name === text)) return undefined
  const pathAt = (place: PlaceValues | undefined): string => place?.[text].trim() ?? ''
  const path = pathAt(values[member][index])
  const first = values[member].findIndex((place) => pathAt(place) === path)
  return path === '' || first === index ? undefined : first
}

const hasRepeats = (values: MappingValues): boolean =>
  (['rename', 'set'] as const).some((member) =>
    values[member].some((_, index) =>
      pathsOf[member].some((text) => rowBefore(values, member, index, text) !== undefined),
    ),
  )

/** What the API takes; null: events are sent as they are; undefined where a path stands in two rows. */
export function toMapping(values: MappingValues): Mapping | null | undefined {
  if (hasRepeats(values)) return undefined
  const { keep, drop, hash, rename, set, expression } = values
  const mapping: Mapping = {
    ...(keep.length > 0 && { keep }),
    ...(drop.length > 0 && { drop }),
    ...(hash.length > 0 && { hash }),
    ...(rename.length > 0 && { rename: byPath(rename, (value) => value.trim()) }),
    ...(set.length > 0 && { set: byPath(set, readTyped) }),
    ...(expression.trim() !== '' && { expression }),
  }
  return Object.keys(mapping).length === 0 ? null : mapping
}

const byPath = <Value>(places: PlaceValues[], of: (value: string) => Value): Record<string, Value> =>
  Object.fromEntries(places.map(({ path, value }) => [path.trim(), of(value)]))

/** The form's field for a member of the mapping that the server found wrong. */
export function mappingField(path: string, values: MappingValues): string | undefined {
  const [, member = '', rest] = /^mapping\.(\w+)(?:[.[](.*))?$/.exec(path) ?? []
  if (member !== 'rename' && member !== 'set') return member in values ? member : undefined
  const index = values[member].findIndex((place) => place.path.trim() === (rest ?? ''))
  return index === -1 ? undefined : `${member}.${index}.${rest === undefined ? 'path' : 'value'}`
}
