/** What Temporal's errors say. */

import { isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client'

/** gRPC status codes that have a meaning for us. */
const invalidArgument = 3
const notFound = 5

const codeOf = (error: unknown): number | undefined => {
  const candidates = [error, (error as Error | undefined)?.cause]
  const grpcError = candidates.find((candidate) => isGrpcServiceError(candidate))
  return isGrpcServiceError(grpcError) ? grpcError.code : undefined
}

export const isNotFound = (error: unknown): boolean =>
  error instanceof WorkflowNotFoundError || codeOf(error) === notFound

/** Why Temporal refused a request, in its own words. */
export const refusalText = (error: Error): string => {
  const { cause } = error
  return isGrpcServiceError(cause) ? cause.details || cause.message : error.message
}

/** The same request would be refused again. */
export const isInvalidArgument = (error: unknown): boolean => codeOf(error) === invalidArgument
