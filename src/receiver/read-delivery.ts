/** What receivers of deliveries share: the body read within a bound, its signature checked, its message read. */

import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { z } from 'zod'

/** Largest body that is read; a delivered event is at most 32 KB and a little. */
const maxBodyBytes = 256 * 1024

const MessageSchema = z.looseObject({
  type: z.string(),
  event: z.string().nullish(),
  name: z.string().nullish(),
  userId: z.string().nullish(),
  anonymousId: z.string().nullish(),
})

export interface ReceivedDelivery {
  bytes: Buffer
  /** Whether the signature fits. */
  isGenuine: boolean
  /** The JSON value; undefined when it is none. */
  body: unknown
  /** The same, when it is an event. */
  message: z.infer<typeof MessageSchema> | undefined
}

/** @param secrets  it must be signed with one of them; without any nothing is genuine
 *  @returns undefined when the body is over 256 KB; the rest of it is not read */
export async function readDelivery(
  request: IncomingMessage,
  secrets: readonly string[],
): Promise<ReceivedDelivery | undefined> {
  const bytes = await readBytes(request)
  if (bytes === undefined) return undefined
  const isGenuine = secrets.some((secret) => verify(bytes, request.headers['x-signature'], secret))
  return { bytes, isGenuine, ...understand(bytes) }
}

/** What a body says. */
export function understand(bytes: Buffer): Pick<ReceivedDelivery, 'body' | 'message'> {
  const body = parse(bytes)
  return { body, message: MessageSchema.safeParse(body).data }
}

async function readBytes(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  // Destroyed with the iterator, the connection could not carry the 413.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxBodyBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function verify(body: Buffer, signature: string | string[] | undefined, secret: string): boolean {
  if (typeof signature !== 'string') return false
  const expected = Buffer.from(createHmac('sha1', secret).update(body).digest('hex'))
  const given = Buffer.from(signature)
  return given.length === expected.length && timingSafeEqual(given, expected)
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
