/** What Temporal's errors say. */

import { isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client'

/** gRPC status codes that have a meaning for us. */
const invalidArgument = 3
const notFound = 5
const permissionDenied = 7
const unimplemented = 12
const unavailable = 14
/** A request that is refused however often it is made: not found, no permission, a precondition, not implemented, no
 *  credentials. */
const refusals = [invalidArgument, notFound, permissionDenied, 9, unimplemented, 16]

interface Answer {
  code: number
  details: string
  message: string
}

/** What Temporal answered, however often it was wrapped since. */
const answerIn = (error: unknown): Answer | undefined =>
  isGrpcServiceError(error) ? error : error instanceof Error ? answerIn(error.cause) : undefined

const codeOf = (error: unknown): number | undefined => answerIn(error)?.code

export const isNotFound = (error: unknown): boolean =>
  error instanceof WorkflowNotFoundError || codeOf(error) === notFound

/** Temporal does not let the caller do it. */
export const isPermissionDenied = (error: unknown): boolean => codeOf(error) === permissionDenied

/** Temporal does not let the caller administer it, or has no such calls: as where others run it. */
export const isOperatorRefused = (error: unknown): boolean =>
  [permissionDenied, unimplemented].includes(codeOf(error) ?? 0)

export const isInvalid = (error: unknown): boolean => codeOf(error) === invalidArgument

/** Why Temporal refused a request, in its own words. */
export const refusalText = (error: Error): string => {
  const answer = answerIn(error)
  return answer?.details || answer?.message || error.message
}

/** Temporal refused a request about the namespace itself: the settings of the node do not fit it. */
export const isSettingsFault = (error: unknown): boolean => refusals.includes(codeOf(error) ?? 0)

/** Why a server that was asked for its namespace could not read it from its database: the database's own words; undefined when
 *  it did not say so, or only that the database was busy, which it is until others are done. */
export const persistenceFault = (error: unknown): string | undefined => {
  const text = codeOf(error) === unavailable ? (error as { details?: string }).details : undefined
  const [, fault] = /^GetNamespace operation failed\. Error (.+)/.exec(text ?? '') ?? []
  return fault !== undefined && !/context (deadline exceeded|canceled)|locked|busy/i.test(fault) ? fault : undefined
}

/** The namespace lacks a search attribute, or has it as another type: what was refused is taken once that is mended. A value
 *  that exceeds a limit is the request's own fault. */
export const isNamespaceFault = (error: unknown): boolean => {
  const text = codeOf(error) === invalidArgument ? refusalText(error as Error) : ''
  return /search ?attribute/i.test(text) && !/exceed/i.test(text)
}

/** The same request would be refused again, whatever the namespace has. */
export const isRefusedForGood = (error: unknown): boolean =>
  codeOf(error) === invalidArgument && !isNamespaceFault(error)
