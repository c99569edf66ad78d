import type { MessageBody } from '../schemas/message.ts'

/** The users that a message speaks of: it must not leave once one of them was deleted. An alias names two. The notification
 *  of a deletion counts as nobody's: it has to go out. */
export function namedUsers({ type, userId, 'Previous ID': previousId }: MessageBody): string[] {
  if (type === 'delete') return []
  return [userId, previousId].filter((id) => typeof id === 'string')
}
