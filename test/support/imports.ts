/** Which file of this repository imports which, read from the sources. */

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import ts from 'typescript'

export const root = resolve(import.meta.dirname, '../..')

/** All folders with code. */
const folders = [
  'activities',
  'api/src',
  'bench',
  'client/bench',
  'client/src',
  'client/test',
  'scripts',
  'src',
  'test',
  'web/src',
  'workflows',
]

export interface Import {
  /** As it is written: a library, or a relative path. */
  name: string
  /** `import type`, which leaves nothing at run time. */
  typeOnly: boolean
}

/** Paths of all files with code, from the root. */
export const codeFiles = (): string[] =>
  folders.flatMap((folder) =>
    readdirSync(resolve(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(c?ts|tsx|js)$/.test(file))
      .map((file) => `${folder}/${file}`),
  )

export const readCode = (file: string): string => readFileSync(resolve(root, file), 'utf8')

/** What a file imports: by a statement, or late with `import()`. */
export function importsOf(file: string, code: string): Import[] {
  const imports: Import[] = []
  const visit = (node: ts.Node): void => {
    const found = readImport(node)
    if (found !== undefined) imports.push(found)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(file, code, ts.ScriptTarget.Latest))
  return imports
}

function readImport(node: ts.Node): Import | undefined {
  // `import { type X }` stays as an import under verbatimModuleSyntax; only `import type` is erased.
  if (ts.isImportDeclaration(node))
    return named(node.moduleSpecifier, node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword)
  if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined)
    return named(node.moduleSpecifier, node.isTypeOnly)
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) return named(node.argument.literal, true)
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
    return named(node.arguments[0], false)
  return undefined
}

const named = (node: ts.Node | undefined, typeOnly: boolean): Import | undefined =>
  node !== undefined && ts.isStringLiteral(node) ? { name: node.text, typeOnly } : undefined

export const isRelative = (name: string): boolean => name.startsWith('.')

/** Path from the root of what `file` imports under a relative name. */
export const pathOf = (file: string, name: string): string => relative(root, resolve(root, dirname(file), name))

/** Groups of files that import each other in a circle, directly or through others (Tarjan's algorithm).
 *  @param graph  per file those that it imports */
export function cyclesIn(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const cycles: string[][] = []
  const path: string[] = []
  /** Per file the order in which it was reached. */
  const places = new Map<string, number>()
  /** @returns the earliest place that leads here and can be reached from here */
  const visit = (file: string): number => {
    const place = places.size
    places.set(file, place)
    path.push(file)
    let earliest = place
    for (const next of graph.get(file) ?? []) {
      if (!places.has(next)) earliest = Math.min(earliest, visit(next))
      else if (path.includes(next)) earliest = Math.min(earliest, places.get(next) ?? place)
    }
    if (earliest === place) {
      const group = path.splice(path.indexOf(file))
      if (group.length > 1 || graph.get(file)?.includes(file) === true) cycles.push(group.sort())
    }
    return earliest
  }
  for (const file of graph.keys()) if (!places.has(file)) visit(file)
  return cycles
}
