/** Opening what Temporal answers to calls that the SDK hands on as they are: histories, descriptions, lists. */

import { defaultPayloadConverter, type DefaultEncodedFailureAttributes } from '@temporalio/common'
import type { temporal } from '@temporalio/proto'
import { isSealed, type Payload, type SealedPayloads } from './sealed-payloads.ts'
import { isSealedText, openText } from './sealed-text.ts'

/** The answer itself, with all payloads and sealed texts in it opened, and with the messages of its failures.
 *  @throws AppError as opening a payload does */
export function opened<Answer extends object>(payloads: SealedPayloads, answer: Answer): Answer {
  const members = answer as Record<string, unknown>
  for (const [name, member] of Object.entries(members)) {
    if (typeof member === 'string' && isSealedText(member)) members[name] = openText(payloads, member)
    if (typeof member !== 'object' || member === null || ArrayBuffer.isView(member)) continue
    if (isSealed(member)) members[name] = payloads.open(member)
    else opened(payloads, member)
  }
  restoreTexts(answer)
  return answer
}

/** A failure has its message in a payload of its own. */
function restoreTexts(failure: temporal.api.failure.v1.IFailure): void {
  const { encodedAttributes } = failure
  if (!encodedAttributes) return
  const { message, stack_trace } = decode(encodedAttributes) as DefaultEncodedFailureAttributes
  failure.message = message
  failure.stackTrace = stack_trace
}

/** The value of a payload that is open. */
export const decode = (payload: Payload): unknown => defaultPayloadConverter.fromPayload(payload)
