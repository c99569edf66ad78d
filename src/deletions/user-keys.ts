/** The data keys of users as a node has them: some in memory, all in the database, sealed with the key ring. */

import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Database } from '../db/database.ts'
import { ensureUserKeys, readUserKeys, useNotedHours, type KeyOwner, type StoredKey } from '../db/user-keys.ts'
import { AppError, PartAwayError, StartError } from '../errors.ts'
import { createFailureLog } from '../failure-log.ts'
import { newDataKeyId } from '../ids.ts'
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

export interface UserKeys {
  /** The keys in use of some users, in their order, made where there are none; undefined while the database does not answer. */
  ofUsers(users: readonly { sourceId: string; userId: string }[]): Promise<UserKey[] | undefined>
  /** Keys by their ids; undefined when one was destroyed.
   *  @throws AppError unavailable while the database does not answer, or when the ring does not have the key they are sealed with */
  byIds(ids: readonly string[]): Promise<UserKey[] | undefined>
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

/** A look-up, and what it found. */
interface Question<Asked> {
  asked: readonly Asked[]
  found: StoredKey[]
}

const nameOf = ({ sourceId, userHash }: KeyOwner): string => `${userHash} ${sourceId}`

export function createUserKeys(dependencies: UserKeysDependencies): UserKeys {
  const { database, secrets, suppression, hashUser, logger } = dependencies
  const inUse = new LRUCache<string, UserKey>({ max: maxKept, ttl: useNotedHours * 3_600_000 })
  const opened = new LRUCache<string, UserKey>({ max: maxKept })
  const failures = createFailureLog(logger, 'message.not_sealed_for_user')
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

  const newKey = (owner: KeyOwner): StoredKey => ({
    ...owner,
    id: newDataKeyId(),
    encrypted: secrets.seal(randomBytes(keyBytes).toString('base64')),
  })

  const ensure = lookUp(nameOf, (owners) => ensureUserKeys(database, owners.map(newKey)))
  const read = lookUp(
    (id: string) => id,
    (ids) => readUserKeys(database, ids),
  )

  /** Takes keys into memory, unless users were forgotten while they were looked up. */
  const open = (keys: readonly StoredKey[], before: string, isInUse: boolean): UserKey[] =>
    keys.map((stored) => {
      const key = { id: stored.id, key: Buffer.from(secrets.open(stored.encrypted), 'base64') }
      if (suppression.forgets() === before) {
        opened.set(key.id, key)
        if (isInUse) inUse.set(nameOf(stored), key)
      }
      return key
    })

  const findInUse = async (owners: readonly KeyOwner[]): Promise<UserKey[]> => {
    const known = new Map(owners.map((owner) => [nameOf(owner), inUse.get(nameOf(owner))]))
    const asked = owners.filter((owner) => known.get(nameOf(owner)) === undefined)
    if (asked.length > 0) {
      const before = suppression.forgets()
      const found = await ensure(asked)
      const keys = open(found, before, true)
      for (const [index, owner] of found.entries()) known.set(nameOf(owner), keys[index])
    }
    return owners.flatMap((owner) => known.get(nameOf(owner)) ?? [])
  }

  return {
    async ofUsers(users) {
      if (performance.now() < restUntil) return undefined
      const owners = users.map(({ sourceId, userId }) => ({ sourceId, userHash: hashUser(userId) }))
      try {
        // Another node may have taken out of use what this one has in memory.
        const look = suppression.upToDate()
        if (look !== undefined) await within(lookLimitMs, 'the database', look)
        if (!suppression.isCurrent()) return undefined
        dropForgotten()
        const keys = await findInUse(owners)
        failures.worked()
        return keys
      } catch (error) {
        failures.failed(error)
        restUntil = performance.now() + restMs
        return undefined
      }
    },
    async byIds(ids) {
      // A node that stood still may have in memory what another one has destroyed. Awaited only where there is something to wait for.
      const look = suppression.upToDate()
      if (look !== undefined) await look
      dropForgotten()
      const known = ids.flatMap((id) => opened.get(id) ?? [])
      if (known.length === ids.length) return known
      const before = suppression.forgets()
      try {
        const found = open(await read(ids), before, false)
        const keys = ids.flatMap((id) => found.find((key) => key.id === id) ?? [])
        return keys.length === ids.length ? keys : undefined
      } catch (error) {
        if (error instanceof StartError) throw new AppError('unavailable', error.message, { cause: error })
        throw new PartAwayError('database', (error as Error).message)
      }
    },
  }
}

/** Looks up for all who ask at about the same time in one statement.
 *  @returns a function that answers the keys that were found of what is asked */
function lookUp<Asked extends string | KeyOwner>(
  nameOfAsked: (asked: Asked) => string,
  find: (asked: Asked[]) => Promise<StoredKey[]>,
): (asked: readonly Asked[]) => Promise<StoredKey[]> {
  const ask = inGroups(async (questions: readonly Question<Asked>[]) => {
    const each = new Map(questions.flatMap(({ asked }) => asked.map((one) => [nameOfAsked(one), one])))
    const keys = await within(answerLimitMs, 'the database', find([...each.values()]))
    const byName = new Map(keys.flatMap((key) => [[nameOf(key), key] as const, [key.id, key] as const]))
    for (const { asked, found } of questions) found.push(...asked.flatMap((one) => byName.get(nameOfAsked(one)) ?? []))
  }, maxQuestions)
  return async (asked) => {
    const found: StoredKey[] = []
    await ask({ asked, found })
    return found
  }
}
