/** What was sealed in the last seconds, as it was before: most first attempts are made at once, by the node that sealed the event. */

/** How long a value is kept, in milliseconds; up to twice as long. */
const keptMs = 2_000

/** Characters of what was sealed until values go sooner. */
const maxCharacters = 8_000_000

export interface RecentValues {
  note(sealed: string, value: unknown): void
  /** @returns undefined for what is not kept any more */
  find(sealed: string): unknown
}

/** Two halves, of which the older one goes as a whole: nothing is told apart by its age. */
export function createRecentValues(): RecentValues {
  let newer = new Map<string, unknown>()
  let older = new Map<string, unknown>()
  let characters = 0
  let timer: NodeJS.Timeout | undefined

  const turn = (): void => {
    clearTimeout(timer)
    older = newer
    newer = new Map()
    characters = 0
    timer = older.size === 0 ? undefined : setTimeout(turn, keptMs).unref()
  }

  return {
    note(sealed, value) {
      newer.set(sealed, value)
      characters += sealed.length
      if (characters > maxCharacters / 2) turn()
      timer ??= setTimeout(turn, keptMs).unref()
    },
    find: (sealed) => newer.get(sealed) ?? older.get(sealed),
  }
}
