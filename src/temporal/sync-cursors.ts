/** Where syncs of audiences stand, as Temporal has it: the id of a user, sealed with the user's own key. */

import type { SealedMessages } from './sealed-messages.ts'

export interface SyncCursors {
  /** Id of the user; empty, so that the sync looks through its changes from the first one, when the user was erased.
   *  @throws AppError unavailable while the key cannot be read */
  open(cursor: string): Promise<string>
  /** Undefined while the database does not answer. */
  seal(audienceId: string, userId: string): Promise<string | undefined>
}

/** An earlier version had the id as it is. */
const sealedCursor = /^key_[0-9a-f]{20}:/

export const createSyncCursors = (messages: Pick<SealedMessages, 'open' | 'sealFor'>): SyncCursors => ({
  open: async (cursor) =>
    sealedCursor.test(cursor) ? (((await messages.open(cursor)) as string | undefined) ?? '') : cursor,
  seal: async (audienceId, userId) => (await messages.sealFor({ sourceId: audienceId, userId }))?.(userId),
})
