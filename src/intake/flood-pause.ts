/** Pauses of a flood of parcels while many callers post. Where the machine has time for one of both only, what is accepted first is delivered no
 *  later in all, and callers have their answers sooner. */

/** From so many callers on that waited for one group: those of single calls at an even pace are fewer. */
const manyCallers = 32

/** Longest pause, in milliseconds. */
const longestMs = 100

/** How long a flood waits before its next parcel, in milliseconds: for as long as the last one took.
 *  @param callers  how many have just had their answer
 *  @param sinceLastMs  since the last parcel began, in milliseconds */
export const floodPauseMs = (callers: number, sinceLastMs: number): number =>
  callers < manyCallers ? 0 : Math.min(longestMs, sinceLastMs)
