/** Which lines the code can log, read from the sources, and which `docs/logs.md` lists. */

import ts from 'typescript'
import { codeFiles, readCode } from './imports.ts'

export interface LogCall {
  file: string
  /** Name of the line; undefined where it is not written out. */
  name: string | undefined
  level: string
  /** Members that are written out. */
  fields: string[]
}

const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace']

/** Files whose lines are named by their callers. */
const named = ['src/failure-log.ts', 'src/keep-looking.ts']

/** All lines of the server: calls of a logger, and what is handed to those that log for others. */
export const logCalls = (): LogCall[] =>
  codeFiles()
    .filter((file) => /^(src|activities)\//.test(file) && !named.includes(file))
    .flatMap((file) => callsIn(file, readCode(file)))

function callsIn(file: string, code: string): LogCall[] {
  const calls: LogCall[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) calls.push(...callsOf(file, node))
    if (ts.isPropertyAssignment(node) && node.name.getText() === 'failure' && ts.isStringLiteral(node.initializer))
      calls.push({ file, name: node.initializer.text, level: 'warn', fields: ['error'] })
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(file, code, ts.ScriptTarget.Latest, true))
  return calls
}

function callsOf(file: string, { expression, arguments: given }: ts.CallExpression): LogCall[] {
  const callee = expression.getText()
  if (callee === 'createFailureLog') return [{ file, name: textsIn(given[1])[0], level: 'warn', fields: ['error'] }]
  if (callee === 'tell') return textsIn(given[0]).map((name) => ({ file, name, level: 'info', fields: ['text'] }))
  const accessed = /(?:^|\.)(?:logger|log)(?:\.(\w+)|\[(.+)\])$/s.exec(callee)
  if (accessed === null) return []
  const callLevels = accessed[1] === undefined ? ['?'] : levels.filter((level) => level === accessed[1])
  const names = textsIn(given.at(-1))
  return callLevels.flatMap((level) =>
    (names.length === 0 ? [undefined] : names).map((name) => ({ file, name, level, fields: fieldsIn(given[0]) })),
  )
}

/** The texts that an expression can be. */
function textsIn(node: ts.Node | undefined): string[] {
  if (node === undefined) return []
  if (ts.isConditionalExpression(node)) return [...textsIn(node.whenTrue), ...textsIn(node.whenFalse)]
  return ts.isStringLiteral(node) ? [node.text] : []
}

const fieldsIn = (node: ts.Node | undefined): string[] =>
  node !== undefined && ts.isObjectLiteralExpression(node)
    ? node.properties.flatMap(({ name }) => (name === undefined ? [] : [name.getText()]))
    : []

export interface DocumentedLogs {
  /** Levels of each line, by its name. */
  lines: Map<string, string[]>
  /** Members that lines may have. */
  fields: string[]
}

export function documentedLogs(): DocumentedLogs {
  const [, ofFields = '', ofLines = ''] = readCode('docs/logs.md').split(/^## /m)
  return {
    lines: new Map(
      [...ofLines.matchAll(/^\| `([\w.]+)` +\| (.*?) +\|/gm)].map(([, name = '', of = '']) => [name, of.split(', ')]),
    ),
    fields: [...ofFields.matchAll(/^\| (`.*?`) +\|/gm)].flatMap(([, names = '']) =>
      [...names.matchAll(/`(\w+)`/g)].map(([, field = '']) => field),
    ),
  }
}
