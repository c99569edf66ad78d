/** What only waits because its destinations are paused: an attempt now is not possible. */

import { AppError } from '../errors.ts'

/** The name of a destination that is paused; undefined when it is not. */
export type NameOfPaused = (destinationId: string) => string | undefined

/** Destinations that a refusal names; of more it tells how many there are. */
const mostNamed = 3

/** @param destinationIds  those that the delivery goes to
 *  @param readOpen  reads which of them are not settled: asked only where some are paused and others are not
 *  @returns the paused destinations that are all it waits for; none when it waits for others, too */
export async function heldOnlyBy(
  destinationIds: readonly string[],
  isPaused: (destinationId: string) => boolean,
  readOpen: () => Promise<readonly string[]>,
): Promise<readonly string[]> {
  if (!destinationIds.some(isPaused)) return []
  const open = destinationIds.every(isPaused) ? destinationIds : await readOpen()
  return open.every(isPaused) ? open : []
}

/** @param destinationIds, readOpen  as in `heldOnlyBy`
 *  @throws AppError conflict when all that are not settled are paused; it names them */
export async function refuseHeld(
  destinationIds: readonly string[],
  nameOfPaused: NameOfPaused,
  readOpen: () => Promise<readonly string[]>,
): Promise<void> {
  const holding = await heldOnlyBy(destinationIds, (id) => nameOfPaused(id) !== undefined, readOpen)
  if (holding.length === 0) return
  throw new AppError('conflict', refusal(holding.map((id) => `"${nameOfPaused(id) ?? ''}" (${id})`)))
}

function refusal(paused: readonly string[]): string {
  if (paused.length === 1) return `held by the paused destination ${paused.join('')}: resume it to send what waits`
  const others = paused.length - mostNamed
  const named = paused.slice(0, mostNamed).join(', ') + (others > 0 ? ` and ${others} more` : '')
  return `held by the paused destinations ${named}: resume them to send what waits`
}
