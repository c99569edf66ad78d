/** Shapes that all management routes share. */

import { z } from 'zod'
import { errorCatalog } from '../../errors.ts'

export const ErrorSchema = z.object({
  success: z.literal(false),
  code: z.enum(Object.keys(errorCatalog) as [string, ...string[]]),
  message: z.string(),
  path: z.string().optional(),
})

/** Answers that any call may have beside its own. */
export const errorResponses = { '4xx': ErrorSchema, '5xx': ErrorSchema }

/** Either of the two. */
export const security = [{ adminToken: [] }, { session: [] }]

export const IdParamsSchema = z.object({ id: z.string() })

const defaultPageSize = 50
const maxPageSize = 200

export const PageQuerySchema = z.strictObject({
  limit: z.coerce.number().int().min(1).max(maxPageSize).default(defaultPageSize),
  cursor: z.string().optional(),
})

/** Whether a name that another one has is refused. */
export const NameRuleSchema = z.object({
  uniqueName: z
    .enum(['true', 'false'])
    .default('false')
    .transform((text) => text === 'true'),
})

export const pageSchema = <Item extends z.ZodType>(item: Item) =>
  z.object({ items: z.array(item), nextCursor: z.string().nullable() })

/** Body of an answer that has nothing to say but that it worked. */
export const DoneSchema = z.object({ success: z.literal(true) })
