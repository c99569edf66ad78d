/** Places that endpoints share: the sockets of a host, the slots of a worker. Those from whom nothing comes back must not
 *  take them all. */

export interface Room {
  /** Whether one that holds so many places may have another: nobody gets more than a share of what is free, so that something
   *  is left for whoever comes next.
   *  @param isAnswering  whether its attempts come back with answers */
  hasPlace(held: number, isAnswering: boolean): boolean
  take(): void
  giveBack(): void
}

/** Rooms of one size by name; one in which nobody is takes no memory. */
export interface Rooms {
  hasPlace(name: string, held: number, isAnswering: boolean): boolean
  take(name: string): void
  giveBack(name: string): void
}

/** What all that do not answer may have together; the rest is kept for those that do. */
const silentShare = 3 / 4

/** What one that does not answer may have of the places that are free for it. One that answers may have as many as are free. */
const oneSilentShare = 1 / 12

/** Whether there is a place, where so many of all are taken. */
const isFree = (places: number, taken: number, held: number, isAnswering: boolean): boolean =>
  isAnswering ? held < places - taken : held < (places * silentShare - taken) * oneSilentShare

/** @param places  in all */
export function createRoom(places: number): Room {
  let taken = 0
  return {
    hasPlace: (held, isAnswering) => isFree(places, taken, held, isAnswering),
    take: () => void taken++,
    giveBack: () => void taken--,
  }
}

/** @param places  in each */
export function createRooms(places: number): Rooms {
  const taken = new Map<string, number>()
  return {
    hasPlace: (name, held, isAnswering) => isFree(places, taken.get(name) ?? 0, held, isAnswering),
    take: (name) => void taken.set(name, (taken.get(name) ?? 0) + 1),
    giveBack(name) {
      const left = (taken.get(name) ?? 1) - 1
      if (left === 0) taken.delete(name)
      else taken.set(name, left)
    },
  }
}
