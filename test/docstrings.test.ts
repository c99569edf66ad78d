/** What crosses a boundary says what it is: units, limits and defaults stand beside the schema or the type, and beside each of
 *  its members. */

import { readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import ts from 'typescript'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { codeFiles, readCode } from './support/imports.ts'

const parse = (file: string, code: string): ts.SourceFile =>
  ts.createSourceFile(file, code, ts.ScriptTarget.Latest, true)

/** Names of exports that have no docstring. A type that is inferred has that of its schema. */
function undocumented(file: string, code: string): string[] {
  const source = parse(file, code)
  return source.statements
    .filter((statement) => ts.canHaveModifiers(statement) && isExported(statement) && !isInferred(statement))
    .filter((statement) => !isDocumented(statement))
    .map((statement) => `${file}: ${statement.getText(source).split('\n', 1)[0] ?? ''}`)
}

const isExported = (statement: ts.HasModifiers): boolean =>
  ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true

const isInferred = (statement: ts.Statement): boolean =>
  ts.isTypeAliasDeclaration(statement) && /\btypeof\b/.test(statement.type.getText())

const isDocumented = (node: ts.Node): boolean => ts.getJSDocCommentsAndTags(node).length > 0

/** Members of types that have no docstring. What tells alternatives apart has that of its type; a method has the members of its
 *  parameters in its own. */
function undocumentedMembers(file: string, code: string): string[] {
  const source = parse(file, code)
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if ((ts.isPropertySignature(node) || ts.isMethodSignature(node)) && !isTag(node) && !isDocumented(node))
      found.push(`${file}: ${node.getText(source).split('\n', 1)[0] ?? ''}`)
    if (!ts.isFunctionLike(node)) ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

/** A member that tells alternatives apart, as in `kind: 'held'`. */
const isTag = ({ name, type }: ts.PropertySignature | ts.MethodSignature): boolean =>
  ['kind', 'ok', 'action'].includes(name.getText()) && type !== undefined && ts.isLiteralTypeNode(type)

/** Members of a schema, by their paths, that have no description.
 *  @param around  the schemas that it is a part of: one that has itself as a part is looked at once */
function undescribed(schema: z.core.$ZodType, path: string, around: readonly z.core.$ZodType[] = []): string[] {
  if (around.includes(schema)) return []
  const within = [...around, schema]
  const def: { type: string; [name: string]: unknown } = { ...schema._zod.def }
  const inner = ['innerType', 'element', 'in', 'valueType'].flatMap((name) => schemasIn(def[name]))
  const members = def.type === 'object' ? Object.entries(def['shape'] as z.core.$ZodShape) : []
  return [
    ...[...inner, ...schemasIn(def['options'])].flatMap((part) => undescribed(part, path, within)),
    ...members.flatMap(([name, member]) => [
      ...(isDescribed(member) ? [] : [`${path}.${name}`]),
      ...undescribed(member, `${path}.${name}`, within),
    ]),
  ]
}

const schemasIn = (value: unknown): z.core.$ZodType[] =>
  [value].flat().filter((part): part is z.core.$ZodType => part instanceof z.core.$ZodType)

/** Itself, or what it makes optional. */
function isDescribed(schema: z.core.$ZodType): boolean {
  if (z.globalRegistry.get(schema)?.description !== undefined) return true
  return schemasIn((schema._zod.def as { innerType?: unknown }).innerType).some(isDescribed)
}

const files = codeFiles().filter((file) => /^src\/(schemas|contracts)\//.test(file))

it('every export of the schemas and contracts has a docstring', () => {
  expect(files.length).toBeGreaterThan(15)
  expect(files.flatMap((file) => undocumented(file, readCode(file)))).toEqual([])
})

it('every member of their types has a docstring', () => {
  expect(files.flatMap((file) => undocumentedMembers(file, readCode(file)))).toEqual([])
})

it('every member of the schemas has a description, which OpenAPI shows', async () => {
  const folder = resolve(import.meta.dirname, '../src/schemas')
  const schemas: [string, z.core.$ZodType][] = []
  for (const file of readdirSync(folder))
    for (const [name, value] of Object.entries((await import(resolve(folder, file))) as object))
      if (value instanceof z.core.$ZodType) schemas.push([name, value])
  expect(schemas.length).toBeGreaterThan(50)
  expect(schemas.flatMap(([name, schema]) => undescribed(schema, name))).toEqual([])
})

it('what has none is found', () => {
  const code = `/** How many. */
    export const most = 5
    export const ThingSchema = z.object({})
    export type Thing = z.infer<typeof ThingSchema>
    export interface Other {
      kind: 'other'
      /** In seconds. */
      age: number
      inside: {
        size: number
      }
    }
    const own = 1`
  expect(undocumented('a.ts', code)).toEqual([
    'a.ts: export const ThingSchema = z.object({})',
    'a.ts: export interface Other {',
  ])
  expect(undocumentedMembers('a.ts', code)).toEqual(['a.ts: inside: {', 'a.ts: size: number'])
  const part = z.object({ bare: z.string(), said: z.string().describe('Said').optional() }).describe('A part')
  const schema = z.object({ parts: z.array(part).describe('Parts').default([]), one: part.nullable() })
  expect(undescribed(schema, 'A')).toEqual(['A.parts.bare', 'A.one.bare'])
})
