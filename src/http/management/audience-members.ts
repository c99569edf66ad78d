/** Members: who they are now, and memberships by upload and by change. */

import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { readMember, type MemberRow } from '../../audiences/member-row.ts'
import { MembershipError } from '../../audiences/membership-error.ts'
import { formatOf, readMembers } from '../../audiences/read-members.ts'
import { stageMembers, stagingGroupSize, type StagedRows } from '../../audiences/stage-members.ts'
import { listMembers } from '../../db/audiences-members.ts'
import { createRowSet, dropRowSet, writeRows } from '../../db/audiences-staging.ts'
import { notOfThisList } from '../../db/page.ts'
import { AppError } from '../../errors.ts'
import {
  AudienceMemberSchema,
  MemberChangeSchema,
  MemberSearchSchema,
  type Audience,
  type AudienceKind,
  type MemberChange,
} from '../../schemas/audience.ts'
import { startSync, type AudienceRouteDependencies } from './audience-dependencies.ts'
import { errorResponses, IdParamsSchema, PageQuerySchema, pageSchema, security } from './schemas.ts'

const tags = ['audiences']

/** Largest body of a change. */
const maxChangeBytes = 16 * 1024 * 1024

export const SyncStartedSchema = z.object({ syncId: z.string() })

export const audienceMemberRoutes: FastifyPluginAsyncZod<AudienceRouteDependencies> = async (app, dependencies) => {
  const { database, audiences } = dependencies

  app.get(
    '/audiences/:id/members',
    {
      schema: {
        tags,
        security,
        params: IdParamsSchema,
        querystring: PageQuerySchema.extend({ search: MemberSearchSchema }),
        response: { 200: pageSchema(AudienceMemberSchema), ...errorResponses },
      },
    },
    async ({ params, query: { search, cursor, limit } }) => {
      await audiences.get(params.id)
      const { rowSet } = await audiences.getStored(params.id)
      const page = await listMembers(database, params.id, rowSet, { search, after: lastUserId(cursor), limit })
      return { items: page.items, nextCursor: page.nextCursor && Buffer.from(page.nextCursor).toString('base64url') }
    },
  )

  app.post(
    '/audiences/:id/members',
    {
      bodyLimit: maxChangeBytes,
      schema: {
        tags,
        security,
        params: IdParamsSchema,
        body: MemberChangeSchema,
        response: { 202: SyncStartedSchema, ...errorResponses },
      },
    },
    async ({ params, body }, reply) => {
      const audience = expectPushed(await audiences.get(params.id))
      const rows = changedRows(body, audience.kind)
      const rowSet = await createRowSet(database, audience.id)
      for (let start = 0; start < rows.length; start += stagingGroupSize)
        await writeRows(database, rowSet, rows.slice(start, start + stagingGroupSize))
      const counts = { rowsRead: body.add.length + body.remove.length, badRows: 0, badRowSample: [] }
      return reply
        .code(202)
        .send(await startSync(dependencies, { audienceId: audience.id, kind: 'change', rowSet, rows: counts }))
    },
  )

  await app.register(async (uploads) => {
    takeStreams(uploads)
    uploads.put<{ Params: { id: string } }>(
      '/audiences/:id/members',
      { schema: { tags, security, params: IdParamsSchema, response: { 202: SyncStartedSchema, ...errorResponses } } },
      async (request, reply) => {
        const audience = expectPushed(await audiences.get(request.params.id))
        const { rowSet, rows } = await stageUpload(dependencies, audience, request)
        return reply
          .code(202)
          .send(await startSync(dependencies, { audienceId: audience.id, kind: 'upload', rowSet, rows }))
      },
    )
  })
}

/** @throws AppError bad_request when the cursor is not one of this list */
function lastUserId(cursor = ''): string {
  const reading = MemberSearchSchema.safeParse(Buffer.from(cursor, 'base64url').toString('utf8'))
  if (reading.success) return reading.data
  throw notOfThisList()
}

/** Bodies reach the handlers as streams, whatever their type. */
export function takeStreams(scope: Parameters<FastifyPluginAsyncZod>[0]): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  scope.addHook('onRequest', async (_request, reply) => scope.limitIdleOnly(reply))
}

/** Stages an uploaded membership; nothing is left of one that was cut off.
 *  @throws AppError unsupported_media_type, bad_request */
export async function stageUpload(
  { database, liveTraffic }: Pick<AudienceRouteDependencies, 'database' | 'liveTraffic'>,
  { id, kind }: Pick<Audience, 'id' | 'kind'>,
  request: FastifyRequest,
): Promise<{ rowSet: string; rows: StagedRows }> {
  const format = formatOf(request.headers['content-type'])
  if (format === undefined || !(request.body instanceof Readable))
    throw new AppError('unsupported_media_type', 'send application/x-ndjson or text/csv')
  const bytes = plain(request.body, request.headers['content-encoding'])
  const rowSet = await createRowSet(database, id)
  try {
    const rows = await stageMembers(readMembers(bytes, format, kind), (group) =>
      liveTraffic.inTurn(() => writeRows(database, rowSet, group)),
    )
    if (!request.raw.complete) throw cutOff()
    return { rowSet, rows }
  } catch (error) {
    await dropRowSet(database, rowSet)
    if (error instanceof MembershipError)
      throw new AppError('bad_request', `The members cannot be used: ${error.message}.`)
    throw request.raw.complete ? error : cutOff()
  }
}

const cutOff = (): AppError => new AppError('bad_request', 'The connection ended before the body did.')

function plain(body: Readable, encoding: string | undefined): Readable {
  if (encoding === undefined || encoding === 'identity') return body
  if (encoding !== 'gzip') throw new AppError('unsupported_media_type', 'Content-Encoding must be gzip or identity.')
  return pipeline(body, createGunzip(), () => {})
}

function expectPushed(audience: Audience): Audience {
  if (audience.membership.kind === 'push') return audience
  throw new AppError('conflict', 'the members of this audience are fetched: sync it instead')
}

/** Of two mentions of a user the later one counts, and removals come after additions. */
function changedRows({ add, remove }: MemberChange, kind: AudienceKind): MemberRow[] {
  if (add.length + remove.length === 0)
    throw new AppError('bad_request', 'there is nothing to add and nothing to remove')
  const rows = new Map<string, MemberRow>()
  for (const [index, input] of add.entries()) {
    const row = expectRow(input, kind, `add[${index}]`)
    rows.set(row.userId, row)
  }
  for (const [index, input] of remove.entries()) {
    const { userId } = expectRow(input, 'audience', `remove[${index}]`)
    rows.set(userId, { userId, present: false, value: null, traits: null })
  }
  return [...rows.values()]
}

function expectRow(input: unknown, kind: AudienceKind, path: string): MemberRow {
  const reading = readMember(input, kind, 0)
  if ('row' in reading) return reading.row
  throw new AppError('bad_request', `${path}: ${reading.fault}`, { path })
}
