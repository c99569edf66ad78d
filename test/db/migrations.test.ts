/** What a migration may do, so that nodes of the version before go on while a new one changes their tables: docs/upgrading.md. */

import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'

interface Migration {
  name: string
  sql: string
}

const folder = resolve(import.meta.dirname, '../../src/db/migrations')
const migrations = await Promise.all(
  readdirSync(folder)
    .sort()
    .map(async (file) => {
      const [migration] = Object.values((await import(resolve(folder, file))) as Record<string, Migration>)
      if (migration === undefined) throw new Error(`${file} exports nothing`)
      return migration
    }),
)

/** The last migration of each released version, and the digest of it and all before it. */
const released = [
  {
    version: '0.1.0',
    last: '0064-turned-away',
    digest: 'e0e1701d594bf6ecf065cc519cd9b77ed777f7e0960a84340f8036ae1a9f6cf0',
  },
]
const isReleased = ({ name }: Migration): boolean => name <= (released.at(-1)?.last ?? '')

/** Statements that only make a key wider: what the version before writes has the same value in the new column of each row. */
const widerKeys = new Set(['0080-shared-parcels'])

const withoutComments = (sql: string): string => sql.replaceAll(/--.*$/gm, '').replaceAll(/\/\*.*?\*\//gs, '')

const tablesMadeIn = (sql: string): string[] =>
  [...sql.matchAll(/create table (?:if not exists )?(\w+)/gi)].map(([, name = '']) => name)

/** What takes something from a version that does not know the migration. */
const forbidden = [
  /\bdrop\s+(table|column|view|type|function|constraint|index)\b/i,
  /\brename\b/i,
  /\btruncate\b/i,
  /\balter\s+column\s+\w+\s+(set\s+data\s+)?type\b/i,
  /\bset\s+not\s+null\b/i,
  /\badd\s+(constraint|unique|check|primary|foreign)\b/i,
  /\bcreate\s+unique\s+index\b/i,
  /\badd\s+column\s+(?:if\s+not\s+exists\s+)?(?![^,;]*\bdefault\b)[^,;]*\bnot\s+null\b/i,
  /\bcreate\s+(or\s+replace\s+)?(trigger|rule)\b/i,
]

/** Statements that a version before would not survive. Tables that the same migrations make are none of its business. */
function takesAway(sql: string, ownTables: readonly string[]): string[] {
  return withoutComments(sql)
    .split(';')
    .map((statement) => statement.trim().replaceAll(/\s+/g, ' '))
    .filter((statement) => forbidden.some((pattern) => pattern.test(statement)))
    .filter(
      (statement) => !ownTables.some((table) => new RegExp(`\\b(table|on|index on) ${table}\\b`, 'i').test(statement)),
    )
}

it('leaves the migrations of released versions as they are', () => {
  for (const { version, last, digest } of released) {
    const known = migrations.filter(({ name }) => name <= last)
    expect(known.at(-1)?.name, version).toBe(last)
    const hash = createHash('sha256')
    for (const { name, sql } of known) hash.update(`${name}\n${sql}\n`)
    expect(hash.digest('hex'), version).toBe(digest)
  }
})

it('has no migration since that takes away what nodes of the version before read or write', () => {
  const fresh = migrations.filter((migration) => !isReleased(migration) && !widerKeys.has(migration.name))
  const ownTables = fresh.flatMap(({ sql }) => tablesMadeIn(sql))
  expect(
    fresh.flatMap(({ name, sql }) => takesAway(sql, ownTables).map((statement) => `${name}: ${statement}`)),
  ).toEqual([])
})

it('would tell of one that does', () => {
  const own = ['fresh']
  for (const statement of [
    'drop table inbox',
    'alter table inbox drop column body',
    'alter table inbox rename column body to content',
    'alter table inbox alter column body type bytea',
    'alter table inbox alter column body set not null',
    'alter table inbox add column lane text not null',
    'alter table inbox add constraint short check (length(body) < 10)',
    'create unique index on inbox (body)',
  ])
    expect(takesAway(statement, own)).toEqual([statement])
  for (const statement of [
    'create table fresh (id text primary key, body text not null)',
    'create unique index on fresh (body)',
    `alter table inbox add column lane text not null default ''`,
    'alter table inbox add column lane text',
    'create index on inbox (lane)',
    '-- drop table inbox',
  ])
    expect(takesAway(statement, own)).toEqual([])
})
