/** The data keys of users as a node has them: some in memory, all in the database, sealed with the key ring. */

import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Database } from '../db/database.ts'
import {
  ensureUserKeys,
  readUserKeys,
  useNotedHours,
  type KeyDraft,
  type KeyOwner,
  type StoredKey,
} from '../db/user-keys.ts'
import { AppError, PartAwayError, StartError } from '../errors.ts'
import { createFailureLog } from '../failure-log.ts'
import { createDataKeyIds } from '../ids.ts'
import { inGroups } from '../in-groups.ts'
import type { Logger } from '../logger.ts'
import type { SecretBox } from '../secrets.ts'
import { within } from '../within.ts'
import type { Suppression } from './suppression.ts'

const keyBytes = 32

/** Keys in memory, about 300 bytes each. */
const maxKept = 20_000

/** Most look-ups that one statement answers. */
const maxQuestions = 1_000

/** How long an event waits for its keys, and to know which of them are in use, in milliseconds; and how long nobody asks a database that did
 *  not answer. Events go straight to Temporal while it is away, and those who posted them wait for that. */
const answerLimitMs = 1_000
const lookLimitMs = 500
const restMs = 2_000

export interface UserKey {
  id: string
  key: Buffer
}

/** Whose events are sealed. */
interface KeyedUser {
  sourceId: string
  userId: string
}

export interface UserKeys {
  /** The keys in use of some users, in their order, made where there are none; undefined while the database does not answer. */
  ofUsers(users: readonly KeyedUser[]): Promise<UserKey[] | undefined>
  /** New keys for those of some users who have none in memory, to be written with their events: in a statement of their own they would
   *  cost another turn of the database, and another wait for the disk. */
  draft(users: readonly KeyedUser[]): KeyDraft
  /** Keys by their ids, at once where they are in memory; undefined when one was destroyed.
   *  @throws AppError unavailable while the database does not answer, or when the ring does not have the key they are sealed with */
  byIds(ids: readonly string[]): UserKey[] | Promise<UserKey[] | undefined>
}

export interface UserKeysDependencies {
  database: Database
  secrets: SecretBox
  /** Tells when keys were taken out of use or destroyed: with each forgetting of users. */
  suppression: Pick<Suppression, 'forgets' | 'isCurrent' | 'upToDate'>
  /** Keyed hash of a user id. */
  hashUser: (userId: string) => string
  logger: Logger
}

/** A key that may be new: it need not be opened then. */
type FoundKey = StoredKey & { key?: Buffer }

/** A look-up, and what it found, by name. */
interface Question<Asked> {
  asked: readonly Asked[]
  found: ReadonlyMap<string, FoundKey>
}

const nameOf = ({ sourceId, userHash }: KeyOwner): string => `${userHash} ${sourceId}`

/** What users have in memory stands by their own ids: a hash for each event would cost more than the look-up. */
const nameInMemory = ({ sourceId, userId }: KeyedUser): string => `${sourceId} ${userId}`

export function createUserKeys(dependencies: UserKeysDependencies): UserKeys {
  const { database, secrets, suppression, hashUser, logger } = dependencies
  const inUse = new LRUCache<string, UserKey>({ max: maxKept, ttl: useNotedHours * 3_600_000 })
  const opened = new LRUCache<string, UserKey>({ max: maxKept })
  const failures = createFailureLog(logger, 'message.not_sealed_for_user')
  const newId = createDataKeyIds()
  let restUntil = -Infinity
  let forgets = suppression.forgets()

  /** What is in memory may be destroyed since. */
  const dropForgotten = (): void => {
    const now = suppression.forgets()
    if (now === forgets) return
    forgets = now
    inUse.clear()
    opened.clear()
  }

  const ownerOf = ({ sourceId, userId }: KeyedUser): KeyOwner => ({ sourceId, userHash: hashUser(userId) })

  const newKeys = (owners: readonly KeyOwner[]): (StoredKey & UserKey)[] => {
    const bytes = randomBytes(keyBytes * owners.length)
    return owners.map((owner, index) => {
      // A copy of its own: one key that is kept does not keep all.
      const key = Buffer.from(bytes.subarray(index * keyBytes, (index + 1) * keyBytes))
      return { ...owner, id: newId(), key, encrypted: secrets.seal(key.toString('base64')) }
    })
  }

  const ensure = lookUp(nameOf, (owners) => ensureUserKeys(database, newKeys(owners)), nameOf)
  const read = lookUp(
    (id: string) => id,
    (ids) => readUserKeys(database, ids),
    ({ id }) => id,
  )

  /** Takes a key into memory, unless users were forgotten since it was asked for.
   *  @param name  of the user who has it in use; undefined where that is not known */
  const open = (stored: FoundKey, before: string, name?: string): UserKey => {
    const key = { id: stored.id, key: stored.key ?? Buffer.from(secrets.open(stored.encrypted), 'base64') }
    if (suppression.forgets() === before) {
      opened.set(key.id, key)
      if (name !== undefined) inUse.set(name, key)
    }
    return key
  }

  /** Who seals with one that cannot be opened looks it up again, and tells why. */
  const openIfReadable = (stored: FoundKey, before: string, name: string | undefined): void => {
    try {
      open(stored, before, name)
    } catch {
      // The others are as good as ever.
    }
  }

  /** Those of some users who have no key in memory, each once, by their names there. */
  const withoutKey = (users: readonly KeyedUser[], names: readonly string[]): Map<string, KeyOwner> => {
    const missing = new Map<string, KeyOwner>()
    for (const [index, user] of users.entries()) {
      const name = names[index] ?? ''
      if (!inUse.has(name) && !missing.has(name)) missing.set(name, ownerOf(user))
    }
    return missing
  }

  /** The keys of users in their order: those in memory, and what is found of the others. */
  const findInUse = async (users: readonly KeyedUser[]): Promise<UserKey[]> => {
    const names = users.map(nameInMemory)
    const known = new Map(names.map((name) => [name, inUse.get(name)]))
    const missing = withoutKey(users, names)
    if (missing.size > 0) {
      const before = suppression.forgets()
      const found = await ensure([...missing.values()])
      for (const [name, owner] of missing) {
        const stored = found.get(nameOf(owner))
        if (stored !== undefined) known.set(name, open(stored, before, name))
      }
    }
    return names.flatMap((name) => known.get(name) ?? [])
  }

  const readByIds = async (ids: readonly string[]): Promise<UserKey[] | undefined> => {
    const before = suppression.forgets()
    try {
      const found = await read(ids)
      const stored = ids.flatMap((id) => found.get(id) ?? [])
      return stored.length === ids.length ? stored.map((one) => open(one, before)) : undefined
    } catch (error) {
      if (error instanceof StartError) throw new AppError('unavailable', error.message, { cause: error })
      throw new PartAwayError('database', (error as Error).message)
    }
  }

  const findByIds = (ids: readonly string[]): UserKey[] | Promise<UserKey[] | undefined> => {
    dropForgotten()
    const known = ids.flatMap((id) => opened.get(id) ?? [])
    return known.length === ids.length ? known : readByIds(ids)
  }

  return {
    async ofUsers(users) {
      if (performance.now() < restUntil) return undefined
      try {
        // Another node may have taken out of use what this one has in memory.
        const look = suppression.upToDate()
        if (look !== undefined) await within(lookLimitMs, 'the database', look)
        if (!suppression.isCurrent()) return undefined
        dropForgotten()
        const keys = await findInUse(users)
        failures.worked()
        return keys
      } catch (error) {
        failures.failed(error)
        restUntil = performance.now() + restMs
        return undefined
      }
    },
    draft(users) {
      dropForgotten()
      const missing = withoutKey(users, users.map(nameInMemory))
      const before = suppression.forgets()
      const keys = newKeys([...missing.values()])
      return {
        keys,
        note({ made, known }) {
          const ids = new Set(made)
          const names = new Map([...missing].map(([name, owner]) => [nameOf(owner), name]))
          for (const stored of [...keys.filter(({ id }) => ids.has(id)), ...known])
            openIfReadable(stored, before, names.get(nameOf(stored)))
        },
      }
    },
    byIds(ids) {
      // A node that stood still may have in memory what another one has destroyed. Waited for only where there is something to wait for.
      const look = suppression.upToDate()
      return look === undefined ? findByIds(ids) : look.then(() => findByIds(ids))
    },
  }
}

/** Looks up for all who ask at about the same time in one statement.
 *  @returns a function that answers the keys that were found, by name; those of others may be among them */
function lookUp<Asked>(
  nameOfAsked: (asked: Asked) => string,
  find: (asked: Asked[]) => Promise<FoundKey[]>,
  nameOfFound: (key: StoredKey) => string,
): (asked: readonly Asked[]) => Promise<ReadonlyMap<string, FoundKey>> {
  const ask = inGroups(async (questions: readonly Question<Asked>[]) => {
    const each = new Map(questions.flatMap(({ asked }) => asked.map((one) => [nameOfAsked(one), one])))
    const keys = await within(answerLimitMs, 'the database', find([...each.values()]))
    const found = new Map(keys.map((key) => [nameOfFound(key), key]))
    for (const question of questions) question.found = found
  }, maxQuestions)
  return async (asked) => {
    const question: Question<Asked> = { asked, found: new Map() }
    await ask(question)
    return question.found
  }
}
