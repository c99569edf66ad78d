import type { z } from 'zod'
import type {
  DeletionRequest,
  DeletionRequestDetail,
  LiftedSuppressions,
  LiftSuppressionsSchema,
  NewDeletionRequestSchema,
} from '../../../src/schemas/deletion-request.ts'
import { pagedQuery } from './query-client.ts'
import { request } from './request.ts'

export const deletionRequestsQuery = pagedQuery<DeletionRequest>(['deletion-requests'], '/deletion-requests', {
  limit: 50,
})

export const requestDeletion = (body: z.input<typeof NewDeletionRequestSchema>): Promise<DeletionRequestDetail> =>
  request('POST', '/deletion-requests', { body })

export const liftSuppressions = (body: z.input<typeof LiftSuppressionsSchema>): Promise<LiftedSuppressions> =>
  request('POST', '/suppressions/lift', { body })
