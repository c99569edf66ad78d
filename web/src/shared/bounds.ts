/** Bounds of number fields, told in the unit of the field: the server tells them in that of the API. */

export interface Bounds {
  min: number
  max: number
  /** What the field counts, as in `minutes`. */
  unit: string
}

/** What is wrong with a number as it is typed, before its field is left and takes the next one within its bounds; null where nothing is. An
 *  empty field is within them. */
export function outOfBounds(value: number | string, { min, max, unit }: Bounds): string | null {
  if (value === '') return null
  // A bound of a second is no number that anybody would read in minutes or hours.
  if (Number(value) < min)
    return min > 0 && min < 1 ? `More than 0 ${unit}.` : `At least ${min.toLocaleString()} ${unit}.`
  return Number(value) > max ? `At most ${max.toLocaleString()} ${unit}.` : null
}
