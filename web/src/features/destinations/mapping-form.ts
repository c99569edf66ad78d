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

/** What the API takes; null: events are sent as they are. */
export function toMapping({ keep, drop, hash, rename, set, expression }: MappingValues): Mapping | null {
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
  const index = values[member].findIndex((place) => place.path.trim() === rest)
  return index === -1 ? undefined : `${member}.${index}.value`
}
