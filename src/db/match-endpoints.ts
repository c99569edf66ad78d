/** Which endpoints of a destination a new list of them means. */

interface Wanted {
  id?: string | undefined
  url: string
}

/** For each wanted endpoint the present one that it is: that of its id; without an id the one of its URL, else the next
 *  in order that nothing else means. Deliveries in progress follow it, and so go to a corrected URL.
 *  @returns undefined for an id that is not there or was named before, and for what is new */
export function matchEndpoints<Present extends { id: string; url: string }>(
  wanted: readonly Wanted[],
  present: readonly Present[],
): (Present | undefined)[] {
  const free = new Set(present)
  const take = (isMeant: (one: Present) => boolean): Present | undefined => {
    const found = [...free].find(isMeant)
    if (found !== undefined) free.delete(found)
    return found
  }
  const byId = wanted.map(({ id }) => (id === undefined ? undefined : take((one) => one.id === id)))
  const byUrl = wanted.map(({ id, url }, index) =>
    id === undefined ? take((one) => isSameUrl(one.url, url)) : byId[index],
  )
  return wanted.map(({ id }, index) => byUrl[index] ?? (id === undefined ? take(() => true) : undefined))
}

const isSameUrl = (a: string, b: string): boolean => new URL(a).href === new URL(b).href
