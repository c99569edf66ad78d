/** A membership read from a PostgreSQL: one query, in a read-only transaction, through a cursor. */

import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import pg from 'pg'
import Cursor from 'pg-cursor'
import { isCertificateError } from '../delivery/classify-failure.ts'
import type { AudienceKind } from '../schemas/audience.ts'
import { columnsToMember } from './columns.ts'
import { readMember, type Reading } from './member-row.ts'
import { MembershipError } from './membership-error.ts'
import type { PullGuard } from './pull-http.ts'
import { parseSqlSource, tlsOptions } from './sql-source.ts'
import { within } from '../within.ts'

/** Rows fetched at a time. */
const fetchSize = 1_000
const connectTimeoutMs = 15_000

/** How much longer than its own limit a server may take to answer, and how long to take the end of the connection, in
 *  milliseconds: one that stands still does neither. */
const lateMs = 2_000

export interface SqlPull {
  connectionString: string
  query: string
  statementTimeoutSeconds: number
  kind: AudienceKind
}

/** The rows of the query, in groups; a row's line is its number, from 1.
 *  @throws MembershipError when the server refuses the query, may not be reached or is not trusted
 *  @throws Error for what may pass: a broken connection, a server that starts, is full or does not answer */
export async function* pullOverSql(pull: SqlPull, guard: PullGuard, signal: AbortSignal): AsyncGenerator<Reading[]> {
  const source = parseSqlSource(pull.connectionString)
  const client = new pg.Client({
    host: await guardedAddress(source.host, guard),
    port: source.port,
    user: source.user,
    password: source.password,
    database: source.database,
    ssl: tlsOptions(source),
    types: { getTypeParser },
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: 'postrider',
  })
  // The query under way rejects as well; without a listener the process would end.
  client.on('error', () => undefined)
  const abort = (): void => void client.end().catch(() => undefined)
  signal.addEventListener('abort', abort, { once: true })
  try {
    const inTime = <Answer>(answer: Promise<Answer>): Promise<Answer> =>
      within(pull.statementTimeoutSeconds * 1_000 + lateMs, source.host, answer)
    await connect(client, source.host)
    await inTime(client.query('begin read only'))
    await inTime(client.query(`set local statement_timeout = '${pull.statementTimeoutSeconds}s'`))
    yield* rowsOf(client, pull, inTime)
  } catch (error) {
    throw toMembershipError(error)
  } finally {
    signal.removeEventListener('abort', abort)
    await within(lateMs, source.host, client.end()).catch(() => client.connection.stream.destroy())
  }
}

/** The driver's only word for a server that offers no TLS: this error has no code. */
const noTls = 'The server does not support SSL connections'

async function connect(client: pg.Client, host: string): Promise<void> {
  try {
    await client.connect()
  } catch (error) {
    if (!(error instanceof Error)) throw error
    if (isCertificateError(error))
      throw new MembershipError(
        `the certificate of ${host} is not trusted (${error.message}): give the server one that is, tell the node of its authority with NODE_EXTRA_CA_CERTS, or put sslmode=no-verify into the connection string`,
        { cause: error },
      )
    if (error.message === noTls)
      throw new MembershipError(
        `${host} offers no TLS: switch it on there, or put sslmode=disable into the connection string`,
        { cause: error },
      )
    throw error
  }
}

/** @param inTime  waits for an answer as long as the server may take for it */
async function* rowsOf(
  client: pg.Client,
  { query, kind }: SqlPull,
  inTime: <Answer>(answer: Promise<Answer>) => Promise<Answer>,
): AsyncGenerator<Reading[]> {
  const cursor = client.query(new Cursor<unknown[]>(query, [], { rowMode: 'array' }))
  let toMember: ReturnType<typeof columnsToMember> | undefined
  for (let line = 0; ;) {
    const { rows, columns } = await inTime(fetchRows(cursor))
    toMember ??= columnsToMember(columns, kind)
    const read = toMember
    yield rows.map((row) => readMember(read(row), kind, ++line))
    if (rows.length < fetchSize) return
  }
}

function fetchRows(cursor: Cursor<unknown[]>): Promise<{ rows: unknown[][]; columns: string[] }> {
  return new Promise((resolve, reject) => {
    cursor.read(fetchSize, (error, rows, result) => {
      // pg-cursor passes null or undefined when there is no error.
      if (error) reject(error)
      else resolve({ rows, columns: result.fields.map(({ name }) => name) })
    })
  })
}

/** The address to connect to: resolved once, so that a second answer of the name server changes nothing. */
async function guardedAddress(host: string, guard: PullGuard): Promise<string> {
  const addresses = isIP(host) === 0 ? (await lookup(host, { all: true })).map(({ address }) => address) : [host]
  const allowed = addresses.find((address) => guard.refuseAddress(address) === undefined)
  if (allowed !== undefined) return allowed
  const [first = ''] = addresses
  throw new MembershipError(`its host is refused: ${guard.refuseAddress(first)?.reason ?? 'it has no address'}`)
}

/** SQLSTATE classes of faults that the query's author mends: syntax and access, data, limits of the statement. */
const lastingClasses = ['22', '25', '28', '3D', '42', '57014']

function toMembershipError(error: unknown): Error {
  if (error instanceof pg.DatabaseError && lastingClasses.some((prefix) => error.code?.startsWith(prefix)))
    return new MembershipError(`its query failed: ${error.message}`, { cause: error })
  return error as Error
}

const int8 = 20
const numeric = 1_700

/** Digits that a number always holds exactly. */
const exactDigits = 15

/** Whole numbers and decimals become numbers where those hold them exactly. */
const getTypeParser = ((oid: number, format?: 'text' | 'binary') => {
  if (oid !== int8 && oid !== numeric) return pg.types.getTypeParser(oid, format ?? 'text') as unknown
  return (text: string) =>
    /^[-.\d]+$/.test(text) && text.replace(/\D/g, '').length <= exactDigits ? Number(text) : text
}) as typeof pg.types.getTypeParser
