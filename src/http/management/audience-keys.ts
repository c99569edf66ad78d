/** The names of the traits of audiences, as their own names give them. */

import { audienceKey } from '../../audiences/audience-key.ts'
import { AppError } from '../../errors.ts'
import { maxKeyLength, type Audience, type AudiencePatch } from '../../schemas/audience.ts'

/** The key that a name gives.
 *  @param orElse  what helps beside another name
 *  @throws AppError bad_request when it gives none */
export function keyOf(name: string, orElse = 'send a key of your own through the API'): string {
  const key = audienceKey(name)
  if (key !== '' && key.length <= maxKeyLength) return key
  const sentence =
    key === ''
      ? 'it has neither a letter nor a digit, so it gives no name of a trait: add one'
      : `the name of the trait that it gives is longer than ${maxKeyLength} characters: shorten it`
  throw new AppError('bad_request', `name: ${sentence}, or ${orElse}`, { path: 'name' })
}

/** The key that a rename leads to; undefined when it stays. One that was chosen by itself stays without a question.
 *  @throws AppError conflict when it is not said whether it is to stay */
export function changedKey(before: Audience, { name, keepKey }: AudiencePatch): string | undefined {
  if (name === undefined || keepKey === true || before.key !== audienceKey(before.name)) return undefined
  const key = keyOf(name, `send keepKey true through the API to keep ${before.key}`)
  if (key === before.key) return undefined
  if (keepKey === false) return key
  throw new AppError(
    'conflict',
    `keepKey: the key of the new name is ${key}: send keepKey true to keep ${before.key}, or false to take it and send ` +
      'every member anew',
    { path: 'keepKey' },
  )
}
