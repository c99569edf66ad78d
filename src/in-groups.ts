/** Does for many at once what is asked for one by one; what is asked for in one turn of the event loop makes up one group.
 *  @param work  does something for many; what comes while it is under way makes up the next group
 *  @param maxGroup  items at a time
 *  @returns a function that does it for one; it fails when it failed for the group */
export function inGroups<Item>(
  work: (items: readonly Item[]) => Promise<void>,
  maxGroup: number,
): (item: Item) => Promise<void> {
  const waiting: { item: Item; resolve: () => void; reject: (error: unknown) => void }[] = []
  let isUnderWay = false

  const run = async (): Promise<void> => {
    while (waiting.length > 0) {
      const group = waiting.splice(0, maxGroup)
      try {
        await work(group.map(({ item }) => item))
        for (const { resolve } of group) resolve()
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    isUnderWay = false
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (isUnderWay) return
      isUnderWay = true
      queueMicrotask(() => void run())
    })
}
