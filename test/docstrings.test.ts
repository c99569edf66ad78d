/** What crosses a boundary says what it is: units, limits and defaults stand beside the schema or the type. */

import ts from 'typescript'
import { expect, it } from 'vitest'
import { codeFiles, readCode } from './support/imports.ts'

/** Names of exports that have no docstring. A type that is inferred has that of its schema. */
function undocumented(file: string, code: string): string[] {
  const source = ts.createSourceFile(file, code, ts.ScriptTarget.Latest, true)
  return source.statements
    .filter((statement) => ts.canHaveModifiers(statement) && isExported(statement) && !isInferred(statement))
    .filter((statement) => ts.getJSDocCommentsAndTags(statement).length === 0)
    .map((statement) => `${file}: ${statement.getText(source).split('\n', 1)[0] ?? ''}`)
}

const isExported = (statement: ts.HasModifiers): boolean =>
  ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true

const isInferred = (statement: ts.Statement): boolean =>
  ts.isTypeAliasDeclaration(statement) && /\btypeof\b/.test(statement.type.getText())

it('every export of the schemas and contracts has a docstring', () => {
  const files = codeFiles().filter((file) => /^src\/(schemas|contracts)\//.test(file))
  expect(files.length).toBeGreaterThan(15)
  expect(files.flatMap((file) => undocumented(file, readCode(file)))).toEqual([])
})

it('an export without one is found', () => {
  const code = `/** How many. */
    export const most = 5
    export const ThingSchema = z.object({})
    export type Thing = z.infer<typeof ThingSchema>
    export interface Other {}
    const own = 1`
  expect(undocumented('a.ts', code)).toEqual([
    'a.ts: export const ThingSchema = z.object({})',
    'a.ts: export interface Other {}',
  ])
})
