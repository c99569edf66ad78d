/** The Identify call that tells an endpoint of one change. */

import { createHash } from 'node:crypto'
import type { AudienceKind } from '../schemas/audience.ts'
import type { MessageBody } from '../schemas/message.ts'

/** Longest message id: that of calls. */
const maxMessageIdLength = 100

/** A user whose membership or value an Identify call brings to a destination. `value` and `traits` are JSON. */
export interface Change {
  userId: string
  present: boolean
  value: string | null
  traits: string | null
}

export interface IdentifyContext extends SyncOfAudience {
  audience: { id: string; key: string; kind: AudienceKind }
  /** ISO 8601, when the sync began: a repeat has the same bytes. */
  timestamp: string
}

/** Which sync of which audience. */
export interface SyncOfAudience {
  audience: { id: string }
  syncId: string
}

/** Made of audience, sync and user, so that a repeat can be recognised; a user id that is long or not plain ASCII is
 *  replaced by its hash. */
export function changeMessageId({ audience, syncId }: SyncOfAudience, userId: string): string {
  const prefix = `${audience.id}:${syncId}:`
  if (prefix.length + userId.length <= maxMessageIdLength && /^[\x21-\x7e]*$/.test(userId)) return prefix + userId
  return `${prefix}#${createHash('sha256').update(userId).digest('base64url')}`
}

/** `true` or `false` for an audience; for a computed trait its value, `null` when it is gone.
 *  @see `spec/`, "Audience (personas) data" */
export function identifyBody(
  context: IdentifyContext,
  { userId, present, value, traits }: Change,
): MessageBody & { messageId: string } {
  const { audience, timestamp } = context
  const own = traits === null ? {} : (JSON.parse(traits) as Record<string, unknown>)
  const told: unknown = audience.kind === 'audience' ? present : value === null ? null : JSON.parse(value)
  return {
    version: 1,
    type: 'identify',
    messageId: changeMessageId(context, userId),
    timestamp,
    userId,
    traits: { ...own, [audience.key]: told },
    context: {
      personas: {
        computation_class: audience.kind,
        computation_key: audience.key,
        computation_id: audience.id,
      },
    },
  }
}
