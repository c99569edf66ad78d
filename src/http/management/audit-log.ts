import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { listAuditEntries } from '../../db/audit-log.ts'
import type { Database } from '../../db/database.ts'
import { AuditEntrySchema, AuditFilterSchema } from '../../schemas/audit.ts'
import { errorResponses, PageQuerySchema, pageSchema, security } from './schemas.ts'

export const auditLogRoutes: FastifyPluginAsyncZod<{ database: Database }> = async (app, { database }) => {
  app.get(
    '/audit-log',
    {
      schema: {
        tags: ['audit-log'],
        summary: 'Every change through this API, newest first',
        security,
        querystring: AuditFilterSchema.extend(PageQuerySchema.shape),
        response: { 200: pageSchema(AuditEntrySchema), ...errorResponses },
      },
    },
    ({ query: { limit, cursor, ...filter } }) => listAuditEntries(database, filter, { limit, cursor }),
  )
}
