/** Before a file is asked for again, in milliseconds. */
const againMs = 1_000

const isServerThere = (): Promise<boolean> =>
  fetch('/healthz').then(
    () => true,
    () => false,
  )

/** Loads a file of the app, however long the server is gone meanwhile: what failed once would be remembered otherwise.
 *  @throws when the server is there and does not have it: the app is of another version by now */
export async function loadFile<Module>(load: () => Promise<Module>): Promise<Module> {
  for (;;) {
    try {
      return await load()
    } catch (error) {
      if (await isServerThere()) throw error
      await new Promise((resolve) => setTimeout(resolve, againMs))
    }
  }
}
