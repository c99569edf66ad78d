/** Writes every change to the audit log, whichever route makes it: what it finds before the change, so that nothing
 *  changes without a trace, and what came of it before the caller gets the answer. */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { maskSecrets, secretPaths } from '../../access/mask.ts'
import { beginAuditEntry, finishAuditEntry, removeAuditEntry, removeOldAuditEntries } from '../../db/audit-log.ts'
import type { Database } from '../../db/database.ts'
import { AppError } from '../../errors.ts'
import type { Logger } from '../../logger.ts'
import { accessOf } from './authenticate.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** `false`: calls of this route change nothing that is worth a trace. */
    audit?: false
  }
  interface FastifyRequest {
    auditEntry: { id: string; subject: string; after: unknown } | null
  }
}

/** Reads a subject as it is, by id; keyed by the first part of the path, as in `sources`. */
export type SubjectReaders = Record<string, (id: string) => Promise<unknown>>

export interface AuditDependencies {
  database: Database
  readers: SubjectReaders
  /** Waits for work as long as the database is there. */
  withDatabase: <Result>(work: () => Promise<Result>) => Promise<Result>
  logger: Logger
}

/** Old entries are removed once per this many new ones. */
const removeEvery = 100

/** Registers the hooks on `app`, for all routes that are registered on it later. */
export function auditChanges(
  app: FastifyInstance,
  { database, readers, withDatabase, logger }: AuditDependencies,
): void {
  let sinceRemoval = removeEvery
  app.decorateRequest('auditEntry', null)

  app.addHook('preHandler', async (request) => {
    const { actor } = request
    if (actor === null || accessOf(request) !== 'write' || request.routeOptions.config.audit === false) return
    const { action, resource, subject, id } = describeChange(request)
    const entryId = await withDatabase(async () => {
      const before = id === undefined ? null : await readSubject(readers[resource], id)
      return beginAuditEntry(database, { actor: actor.name, action, subject, before: maskSecrets(before) })
    })
    request.auditEntry = { id: entryId, subject, after: null }
    if (sinceRemoval++ < removeEvery) return
    sinceRemoval = 0
    await removeOldAuditEntries(database)
  })

  app.addHook('preSerialization', async (request, _reply, payload) => {
    if (request.auditEntry !== null) request.auditEntry.after = payload
    return payload
  })

  app.addHook('onSend', async (request, reply, payload) => {
    const entry = request.auditEntry
    if (entry === null) return payload
    request.auditEntry = null
    try {
      // A refused change is none; after a fault of ours some of it may have happened.
      if (reply.statusCode >= 400 && reply.statusCode < 500) await removeAuditEntry(database, entry.id)
      else await finishAuditEntry(database, entry.id, result(request, reply.statusCode, entry))
    } catch (error) {
      // The change stands, and so does the entry, with the outcome `unknown`.
      logger.error({ auditId: entry.id, error: (error as Error).message }, 'audit.not_finished')
    }
    return payload
  })
}

function result(
  { method, params, body }: FastifyRequest,
  statusCode: number,
  { subject, after }: { subject: string; after: unknown },
): Parameters<typeof finishAuditEntry>[2] {
  const isNew = (params as { id?: string }).id === undefined
  const id = (after as { id?: unknown } | null)?.id
  return {
    outcome: statusCode < 400 ? 'done' : 'failed',
    subject: isNew && typeof id === 'string' ? `${subject}/${id}` : subject,
    after: method === 'DELETE' ? null : withSecretsSet(maskSecrets(after), body),
  }
}

/** A secret that was replaced looks the same before and after: what was set is named beside. */
export function withSecretsSet(after: unknown, body: unknown): unknown {
  const isJson = typeof body === 'object' && body !== null && Object.getPrototypeOf(body) === Object.prototype
  const secretsSet = isJson ? secretPaths(body) : []
  return secretsSet.length === 0 || typeof after !== 'object' ? after : { ...after, secretsSet }
}

const verbs: Record<string, string> = { POST: 'create', PUT: 'replace', PATCH: 'update', DELETE: 'delete' }

/** `POST /api/v1/sources/:id/rotate-key` → action `sources.rotate-key`, subject `sources/<id>`. */
function describeChange({ method, params, routeOptions }: FastifyRequest) {
  const path = (routeOptions.url ?? '').replace(/^\/api\/v1\//, '')
  const [resource = '', ...rest] = path.split('/').filter((part) => !part.startsWith(':'))
  const { id } = params as { id?: string }
  const isNamed = method === 'POST' && rest.length > 0
  return {
    action: [resource, ...rest, ...(isNamed ? [] : [verbs[method] ?? method])].join('.'),
    resource,
    // In `deliveries/bulk/:id` it is not the id of a delivery.
    id: path.startsWith(`${resource}/:id`) ? id : undefined,
    subject: id === undefined ? resource : `${path.slice(0, path.indexOf('/:id'))}/${id}`,
  }
}

async function readSubject(read: SubjectReaders[string] | undefined, id: string): Promise<unknown> {
  try {
    return (await read?.(id)) ?? null
  } catch (error) {
    // The handler says so to the caller.
    if (error instanceof AppError && error.code === 'not_found') return null
    throw error
  }
}
