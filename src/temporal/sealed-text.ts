/** Texts for which Temporal has no payload, sealed all the same: the reason of a cancellation. */

import proto from '@temporalio/proto'
import { defaultPayloadConverter } from '@temporalio/common'
import type { SealedPayloads } from './sealed-payloads.ts'

const ProtoPayload = proto.temporal.api.common.v1.Payload

/** How a text begins that was sealed; one that came from elsewhere does not. */
const mark = 'postrider-sealed:'

/** An empty text stays empty. */
export function sealText({ seal }: SealedPayloads, text: string): string {
  if (text === '') return ''
  const sealed = seal(defaultPayloadConverter.toPayload(text))
  return mark + Buffer.from(ProtoPayload.encode(sealed).finish()).toString('base64')
}

export const isSealedText = (text: string): boolean => text.startsWith(mark)

/** @throws AppError as opening a payload does */
export const openText = ({ open }: SealedPayloads, text: string): string =>
  defaultPayloadConverter.fromPayload(open(ProtoPayload.decode(Buffer.from(text.slice(mark.length), 'base64'))))
