/** Changes at paths of an event. Events share parts with others of their batch: each change is made on a copy of what leads to it. */

import { namesIn, readPath } from '../filters/read-path.ts'

/** Paths as a tree: the names that follow each other. */
interface Branch {
  /** A path that ends here; of those that only lead through, undefined. */
  path?: string
  next: Map<string, Branch>
}

/** Stands for a value that is not there any more. */
const gone = Symbol('gone')

/** A mapping that does not fit an event. Its message names the path, never the value. */
export class PathError extends Error {
  override name = 'PathError'
  readonly path: string

  constructor(path: string, problem: string) {
    super(problem)
    this.path = path
  }
}

function treeOf(paths: readonly string[]): Branch {
  const root: Branch = { next: new Map() }
  for (const path of paths) {
    let branch = root
    for (const name of namesIn(path)) {
      const next = branch.next.get(name) ?? { next: new Map<string, Branch>() }
      branch.next.set(name, next)
      branch = next
    }
    branch.path = path
  }
  return root
}

/** Changes the entries of an object or a list; what is `gone` is left out. */
function changeEntries(value: object, change: (name: string, entry: unknown) => unknown): unknown {
  if (Array.isArray(value))
    return value.map((entry: unknown, index) => change(String(index), entry)).filter((entry) => entry !== gone)
  const changed: Record<string, unknown> = {}
  for (const [name, before] of Object.entries(value)) {
    const entry = change(name, before)
    if (entry !== gone) setOwn(changed, name, entry)
  }
  return changed
}

/** An assignment would take `__proto__` for the prototype. */
function setOwn(target: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__')
    Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true })
  else target[name] = value
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

function keepIn(value: unknown, { path, next }: Branch): unknown {
  if (path !== undefined) return value
  if (!isObject(value)) return gone
  return changeEntries(value, (name, entry) => {
    const branch = next.get(name)
    return branch === undefined ? gone : keepIn(entry, branch)
  })
}

function changeIn(value: unknown, { path, next }: Branch, change: (value: unknown, path: string) => unknown): unknown {
  if (path !== undefined) return change(value, path)
  if (!isObject(value) || !hasAny(value, next)) return value
  return changeEntries(value, (name, entry) => {
    const branch = next.get(name)
    return branch === undefined ? entry : changeIn(entry, branch, change)
  })
}

function hasAny(value: object, next: Branch['next']): boolean {
  for (const name of next.keys()) if (Object.hasOwn(value, name)) return true
  return false
}

export type Change = (event: object) => object

/** Keeps what stands at the paths, and what leads there. */
export function keepPaths(paths: readonly string[]): Change {
  const tree = treeOf(paths)
  return (event) => keepIn(event, tree) as object
}

/** Removes what stands at the paths; entries of a list that follow move up. */
export function dropPaths(paths: readonly string[]): Change {
  const tree = treeOf(paths)
  return (event) => changeIn(event, tree, () => gone) as object
}

/** Puts other values in the place of those at the paths, where there are any. */
export function replaceAt(paths: readonly string[], replace: (value: unknown, path: string) => unknown): Change {
  const tree = treeOf(paths)
  return (event) => changeIn(event, tree, replace) as object
}

/** Moves values, all at once: two may change places. What is not there is not moved. */
export function movePaths(places: Readonly<Record<string, string>>): Change {
  const remove = dropPaths(Object.keys(places))
  const moves = Object.entries(places).map(([from, to]) => ({ read: readPath(from), to, names: namesIn(to) }))
  return (event) => {
    const found = moves.map(({ read }) => read(event))
    return moves.reduce((before, { names, to }, index) => {
      const value = found[index]
      return value === undefined ? before : (put(before, names, value, to) as object)
    }, remove(event))
  }
}

/** Puts values at paths, and makes the objects that lead there. */
export function putAll(values: Readonly<Record<string, unknown>>): Change {
  const places = Object.entries(values).map(([path, value]) => ({ path, value, names: namesIn(path) }))
  return (event) => places.reduce((before, { path, names, value }) => put(before, names, value, path) as object, event)
}

/** @param depth  how many of the names lead to `parent`
 *  @throws PathError where something on the way is no object, or no entry of its list */
function put(parent: unknown, names: readonly string[], value: unknown, path: string, depth = 0): unknown {
  const name = names[depth]
  if (name === undefined) return value
  if (Array.isArray(parent)) {
    const index = parent.findIndex((_, place) => String(place) === name)
    if (index === -1) throw new PathError(path, 'there is no such entry in the list')
    return parent.with(index, put(parent[index], names, value, path, depth + 1))
  }
  if (!isObject(parent) && parent !== undefined && parent !== null)
    throw new PathError(path, 'a value on the way there is no object')
  const before = parent as Record<string, unknown> | null | undefined
  const entry = isObject(before) && Object.hasOwn(before, name) ? before[name] : undefined
  return { ...before, [name]: put(entry, names, value, path, depth + 1) }
}
