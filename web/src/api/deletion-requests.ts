import type { z } from 'zod'
import type { LiftSuppressionsSchema, NewDeletionRequestSchema } from '../../../src/schemas/deletion-request.ts'
import { pagedQuery } from './query-client.ts'
import { answerOf, api } from './request.ts'

export const deletionRequestsQuery = pagedQuery(['deletion-requests'], (cursor, signal) =>
  api.GET('/deletion-requests', { params: { query: { limit: 50, cursor } }, signal }),
)

export const requestDeletion = (body: z.input<typeof NewDeletionRequestSchema>) =>
  answerOf(api.POST('/deletion-requests', { body }))

export const liftSuppressions = (body: z.input<typeof LiftSuppressionsSchema>) =>
  answerOf(api.POST('/suppressions/lift', { body }))
