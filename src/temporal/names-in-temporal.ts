/** How the names that callers give stand in Temporal: ids of messages and users, names of events. Temporal looks workflows up by
 *  them, so that it cannot have them encrypted: it has keyed hashes (HMAC-SHA-256, 144 bits) in their place. */

import { createHmac } from 'node:crypto'
import { eventIdOf, hashedName } from '../contracts/names.ts'
import { PartAwayError } from '../errors.ts'
import { keyword } from './keyword.ts'

/** How far the clocks of nodes may differ, and Temporal's lists be behind, in milliseconds. */
const clockSkewMs = 60_000

export type NameKind = 'message' | 'user' | 'event'

/** What the database keeps of it. */
export interface NameHashing {
  key: Buffer
  /** From when on names are hashed; deliveries that started before have them as they are. */
  beginsAt: Date
  /** Whether Temporal may have such deliveries. */
  hasPlain: boolean
}

/** Before the key is known, each look-up throws a PartAwayError. */
export interface NamesInTemporal {
  use(hashing: NameHashing): void
  /** Id of the workflow that a delivery is started with; one that Temporal gave is answered as it is. */
  workflowId(deliveryId: string): string
  /** The ids that the workflow of a delivery may have, the likeliest first. */
  workflowIds(deliveryId: string): readonly string[]
  /** What stands for a user beside the user's data keys. */
  keyOwner(userId: string): string
  /** What a search attribute gets. */
  value(kind: NameKind, name: string): string
  /** Whether deliveries whose names are not hashed may be left, while no node starts any more of them. */
  mayHavePlainLeft(): boolean
  /** To be called when none is left. */
  noteNoPlain(): void
  /** What a search attribute may have; of a message also where `name` is a workflow id, or the end of one. */
  values(kind: NameKind, name: string): readonly string[]
}

export function createNamesInTemporal(): NamesInTemporal {
  let hashing: NameHashing | undefined
  const known = (): NameHashing => {
    if (hashing === undefined) throw new PartAwayError('database', 'the key of names is not read yet')
    return hashing
  }
  const hash = (kind: NameKind | 'key owner', name: string): string =>
    `~${createHmac('sha256', known().key).update(`${kind}\n${name}`).digest('base64url').slice(0, 24)}`

  const hashedId = (deliveryId: string): string => {
    const { place, name, redelivery } = partsOf(deliveryId)
    if (name === undefined || hashedName.test(name)) return deliveryId
    return `${place}${hash('message', name)}${redelivery}`
  }
  /** The forms of which the first is the one of now. An upgrade leaves names as they are for a while, in which nodes of the version
   *  before find them. The plain form goes once no installation has deliveries any more that an earlier version started. */
  const forms = (hashed: string, plain: string): string[] => {
    const { beginsAt, hasPlain } = known()
    if (!hasPlain || hashed === plain) return [hashed]
    return beginsAt.getTime() <= Date.now() ? [hashed, plain] : [plain, hashed]
  }
  const first = ([form = '']: readonly string[]): string => form

  const workflowIds: NamesInTemporal['workflowIds'] = (deliveryId) => forms(hashedId(deliveryId), deliveryId)
  const formsOf = (kind: NameKind, name: string): string[] => forms(hash(kind, name), keyword(name))
  return {
    use(known) {
      hashing = known
    },
    workflowId: (deliveryId) => first(workflowIds(deliveryId)),
    workflowIds,
    mayHavePlainLeft: () => known().hasPlain && known().beginsAt.getTime() + clockSkewMs < Date.now(),
    noteNoPlain() {
      hashing = { ...known(), hasPlain: false }
    },
    keyOwner: (userId) => hash('key owner', userId),
    value: (kind, name) => first(formsOf(kind, name)),
    values: (kind, name) => [...formsOf(kind, name), ...(kind === 'message' ? hashIn(name) : [])],
  }
}

/** The part of the id of a delivery that callers give, and what stands around it; there is none in other ids. */
function partsOf(deliveryId: string): { place?: string; name?: string; redelivery: string } {
  const eventId = eventIdOf(deliveryId)
  const { place, name } = /^(?<place>event\/[^/]*\/|delete\/[^/]*\/[^/]*\/)(?<name>.+)$/s.exec(eventId)?.groups ?? {}
  return {
    ...(place !== undefined && name !== undefined && { place, name }),
    redelivery: deliveryId.slice(eventId.length),
  }
}

const hashIn = (workflowId: string): string[] =>
  [partsOf(workflowId).name ?? workflowId].filter((name) => hashedName.test(name))
