/** Who the visitor of a page is, as this browser remembers it. */

import type { JsonObject } from './calls.ts'
import { randomId } from './random-id.ts'

/** The names under which analytics.js keeps the same: a site that comes from there keeps its visitors. */
const USER = 'ajs_user_id'
const ANONYMOUS = 'ajs_anonymous_id'

const YEAR_S = 31_536_000

interface Store {
  read(key: string): string | null | undefined
  write(key: string, text: string): void
  remove(key: string): void
}

const local: Store = {
  read: (key) => localStorage.getItem(key),
  write: (key, text) => localStorage.setItem(key, text),
  remove: (key) => localStorage.removeItem(key),
}

const cookies: Store = {
  read(key) {
    const found = document.cookie.split('; ').find((cookie) => cookie.startsWith(`${key}=`))
    return found && decodeURIComponent(found.slice(key.length + 1))
  },
  write: (key, text) => setCookie(key, encodeURIComponent(text), YEAR_S),
  remove: (key) => setCookie(key, '', 0),
}

/** The first one that works counts. */
const stores = [local, cookies]

function setCookie(key: string, value: string, maxAgeS: number): void {
  const secure = location.protocol === 'https:' ? '; secure' : ''
  document.cookie = `${key}=${value}; path=/; samesite=lax; max-age=${maxAgeS}${secure}`
}

/** Storage may throw at any touch: where it is forbidden, full, or not there. */
function attempt<Result>(work: () => Result): Result | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}

/** Whether it kept it. */
const keeps = (store: Store, key: string, text: string): boolean =>
  attempt(() => {
    store.write(key, text)
    return store.read(key) === text
  }) === true

const isUsable = (store: Store): boolean => {
  const probe = 'postrider_probe'
  const isKept = keeps(store, probe, '1')
  attempt(() => store.remove(probe))
  return isKept
}

export class Visitor {
  /** What is in no store: while nothing may be stored, and where none works. It is gone with the page. */
  readonly #ofPage = new Map<string, string>()
  #store: Store | undefined

  /** @param mayStore  false: only once `keep` is called */
  constructor(mayStore: boolean) {
    if (mayStore) this.keep()
  }

  /** Adds whom a call is about: the anonymous id, and the user id unless the call has an id of its own. */
  completeCall(call: JsonObject): JsonObject {
    const { userId, anonymousId } = call
    const known = userId || anonymousId ? userId : this.#read(USER)
    return Object.assign({}, call, { userId: known, anonymousId: anonymousId || this.#anonymousId() })
  }

  /** To be called before a user is identified: another one than before gets an anonymous id of their own. */
  meet(userId: unknown): void {
    const before = this.#read(USER)
    if (userId && before && userId !== before) this.forget()
  }

  /** To be called after it. */
  became(userId: string | null | undefined): void {
    if (userId) this.#write(USER, userId)
  }

  /** Forgets what this page and earlier ones knew. */
  forget(): void {
    this.#ofPage.clear()
    for (const store of stores) for (const key of [USER, ANONYMOUS]) attempt(() => store.remove(key))
  }

  /** From now on stores what it knows. A visitor who was here before has the anonymous id of then.
   *  @returns puts that id in the place of the one that the page had so far */
  keep(): (json: string) => string {
    const [user, before] = [this.#ofPage.get(USER), this.#ofPage.get(ANONYMOUS)]
    this.#ofPage.clear()
    this.#store = stores.find(isUsable)
    this.meet(user)
    this.became(user)
    if (before && !this.#read(ANONYMOUS)) this.#write(ANONYMOUS, before)
    const now = this.#anonymousId()
    return (json) => (before ? json.replaceAll(before, now) : json)
  }

  /** Forgets, and stores nothing until `keep` is called. */
  withdraw(): void {
    this.forget()
    this.#store = undefined
  }

  #anonymousId(): string {
    const known = this.#read(ANONYMOUS)
    if (known) return known
    const made = randomId()
    this.#write(ANONYMOUS, made)
    return made
  }

  #read(key: string): string | undefined {
    return this.#ofPage.get(key) ?? parse(attempt(() => this.#store?.read(key)))
  }

  #write(key: string, value: string): void {
    this.#ofPage.delete(key)
    if (!this.#store || !keeps(this.#store, key, JSON.stringify(value))) this.#ofPage.set(key, value)
  }
}

/** analytics.js writes JSON; older versions of it wrote the text itself. */
function parse(text: string | null | undefined): string | undefined {
  const value = attempt(() => JSON.parse(text ?? 'null') as unknown)
  if (value === null) return undefined
  return typeof value === 'string' ? value : (text ?? undefined)
}
