/** Paths into events, such as `properties.products.0.sku`. */

/** The names of a path; a dot that belongs to a name stands behind a backslash. */
export const namesIn = (path: string): string[] => path.split(/(?<!\\)\./).map((name) => name.replaceAll('\\.', '.'))

/** Reads the value at a path: undefined where there is none. What an object inherits is no part of an event. */
export function readPath(path: string): (event: object) => unknown {
  const names = namesIn(path)
  return (event) => {
    let value: unknown = event
    for (const name of names) {
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
      value = (value as Record<string, unknown>)[name]
    }
    return value
  }
}
