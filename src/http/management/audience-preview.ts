/** What a sync would send: counts and a sample, and nothing sent. */

import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import pg from 'pg'
import { badRowsRefusal } from '../../audiences/bad-rows.ts'
import { identifyBody } from '../../audiences/identify.ts'
import { MembershipError } from '../../audiences/membership-error.ts'
import { pullMembership } from '../../audiences/pull.ts'
import { formatOf } from '../../audiences/read-members.ts'
import { stageMembers, type StagedRows } from '../../audiences/stage-members.ts'
import type { StoredAudience } from '../../db/audiences.ts'
import { nextChanges } from '../../db/audiences-changes.ts'
import { compareWhole, countAcknowledged } from '../../db/audiences-comparison.ts'
import { countMembers, createRowSet, dropRowSet, previewNumber, writeRows } from '../../db/audiences-staging.ts'
import { failureReason } from '../../delivery/classify-failure.ts'
import { AppError } from '../../errors.ts'
import type { Preview } from '../../schemas/audience.ts'
import type { AudienceRouteDependencies } from './audience-dependencies.ts'
import { stageUpload } from './audience-members.ts'

const sampleSize = 10

/** Previews the membership of the body (NDJSON or CSV), else the one that would be fetched, else the present one.
 *  @throws AppError bad_request when the membership cannot be used */
export async function previewSync(
  dependencies: AudienceRouteDependencies,
  audienceId: string,
  request: FastifyRequest,
): Promise<Preview> {
  const { database, audiences } = dependencies
  await audiences.get(audienceId)
  const audience = await audiences.getStored(audienceId)
  const { rowSet, rows, isUnchanged } = await stage(dependencies, audience, request)
  try {
    const refusal = badRowsRefusal(rows, audience.maxBadRowShare)
    if (refusal !== undefined) return { ...rows, refusal: refusal.sentence, destinations: [] }
    const membership = isUnchanged ? (audience.rowSet ?? '0') : rowSet
    const members = await countMembers(database, membership)
    const destinations = []
    for (const link of audience.links) {
      const { added, removed } = await compareWhole(database, previewNumber(rowSet), link, membership, false)
      const sample = await nextChanges(database, previewNumber(rowSet), link, '', sampleSize)
      const acknowledged = removed === 0 ? 0 : await countAcknowledged(database, link)
      const context = { audience, syncId: 'preview', timestamp: new Date().toISOString() }
      destinations.push({
        destinationId: link.destinationId,
        added,
        removed,
        unchanged: members - added,
        needsConfirmation: removed > audience.maxRemovalShare * acknowledged,
        sample: sample.map((change) => identifyBody(context, change)),
      })
    }
    return { ...rows, refusal: null, destinations }
  } finally {
    await dropRowSet(database, rowSet)
  }
}

interface Staged {
  rowSet: string
  rows: StagedRows
  /** There is nothing new: the present membership stands. */
  isUnchanged: boolean
}

async function stage(
  dependencies: AudienceRouteDependencies,
  audience: StoredAudience,
  request: FastifyRequest,
): Promise<Staged> {
  if (request.body instanceof Readable && formatOf(request.headers['content-type']) !== 'json')
    return { ...(await stageUpload(dependencies, audience, request)), isUnchanged: false }
  const { database, pullGuard, liveTraffic } = dependencies
  const rowSet = await createRowSet(database, audience.id)
  const nothing: Staged = { rowSet, rows: { rowsRead: 0, badRows: 0, badRowSample: [] }, isUnchanged: true }
  if (audience.membership.kind === 'push') return nothing
  const gone = new AbortController()
  request.raw.once('close', () => gone.abort())
  try {
    const pulled = await pullMembership(audience, pullGuard, gone.signal).catch((error: unknown) => {
      throw notFetched(error, audience)
    })
    if (pulled.kind === 'unchanged') return nothing
    const rows = await stageMembers(fetched(pulled.readings, audience), (group) =>
      liveTraffic.inTurn(() => writeRows(database, rowSet, group)),
    )
    return { rowSet, rows, isUnchanged: false }
  } catch (error) {
    await dropRowSet(database, rowSet)
    if (error instanceof MembershipError) throw new AppError('bad_request', error.sentence, { cause: error })
    throw error
  }
}

/** What is read from the place of the members; a failure there is told apart from one of the database that takes them. */
async function* fetched<Value>(readings: AsyncIterable<Value>, audience: StoredAudience): AsyncIterable<Value> {
  try {
    yield* readings
  } catch (error) {
    throw notFetched(error, audience)
  }
}

/** What kept it from being fetched this time, which may pass. */
function notFetched(error: unknown, { membership }: StoredAudience): MembershipError {
  if (error instanceof MembershipError) return error
  const address = membership.kind === 'http' ? membership.url : membership.kind === 'sql' && membership.connectionString
  const isOfNetwork = error instanceof Error && 'code' in error && !(error instanceof pg.DatabaseError)
  const why = address && isOfNetwork ? failureReason(error, new URL(address).hostname) : (error as Error).message
  return new MembershipError(`it could not be fetched (${why.replace(/\.$/, '')})`, { cause: error })
}
