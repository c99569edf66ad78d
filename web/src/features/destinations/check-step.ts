import { outOfBounds, type Bounds } from '../../shared/bounds.ts'
import type { DestinationValues, EndpointValues, HeaderValues, RetryValues } from './destination-form.ts'

/** What is missing or wrong in a step of the wizard, by the form's fields.
 *  @param isForAudiences  a destination that needs no source
 *  @param taken  names of other destinations */
export function checkStep(
  step: number,
  { name, sourceIds, newSource, webhooks }: DestinationValues,
  isForAudiences: boolean,
  taken: readonly string[],
): Record<string, string> {
  if (step === 0)
    return {
      ...(name.trim() === '' && { name: 'Enter a name' }),
      ...(taken.includes(name.trim()) && { name: 'Another destination has this name' }),
      ...(sourceIds.length === 0 && !isForAudiences && { sourceIds: 'Choose at least one source, or create one' }),
      ...newSourceError(newSource),
    }
  if (step !== 1) return {}
  if (webhooks.every(({ url }) => url.trim() === ''))
    return { 'webhooks.0.url': 'Enter the URL of at least one endpoint' }
  return endpointErrors(webhooks)
}

/** A name that was typed would be lost with what is saved. */
export const newSourceError = (newSource: string): Record<string, string> =>
  newSource.trim() === '' ? {} : { newSource: 'Create this source, or empty the field' }

/** What is wrong with endpoints as they are typed, by the form's fields: what lacks its URL or its name would be left out of what is saved. */
export const endpointErrors = (webhooks: readonly EndpointValues[]): Record<string, string> =>
  Object.fromEntries(
    webhooks.flatMap(({ url, headers, options }, index) => {
      const isAlone = webhooks.length === 1 && headers.every(isEmpty)
      const wrong = urlError(url, isAlone)
      return [
        ...(wrong === undefined ? [] : [[`webhooks.${index}.url`, wrong]]),
        ...Object.entries(pausesError(options, `webhooks.${index}.options.`)),
        ...headers.flatMap((header, row) => {
          const wrongName = nameError(header, headers.slice(0, row))
          return wrongName === undefined ? [] : [[`webhooks.${index}.headers.${row}.name`, wrongName]]
        }),
      ]
    }),
  ) as Record<string, string>

/** One pause without the other is no schedule.
 *  @param path  of the form's member that has them */
export function pausesError({ retryPauses }: Pick<RetryValues, 'retryPauses'>, path = ''): Record<string, string> {
  const { firstSeconds, maxSeconds } = retryPauses
  if ((firstSeconds === '') === (maxSeconds === '')) return {}
  return {
    [`${path}retryPauses.${firstSeconds === '' ? 'firstSeconds' : 'maxSeconds'}`]:
      'Enter both pauses, or leave both empty',
  }
}

/** Of the time of failure before a hold. */
export const holdBounds: Bounds = { min: 1 / 60, max: 24 * 60, unit: 'minutes' }

/** The server tells these bounds in seconds. */
export function holdError({
  onFailing,
  holdAfterMinutes,
}: Pick<DestinationValues, 'onFailing' | 'holdAfterMinutes'>): Record<string, string> {
  const wrong = onFailing === 'hold' ? outOfBounds(holdAfterMinutes, holdBounds) : null
  return wrong === null ? {} : { holdAfterMinutes: wrong }
}

/** Longest URL that a node takes, in characters. */
const maxUrlLength = 2_048

/** @param isAlone  nothing else would be lost without it */
function urlError(url: string, isAlone: boolean): string | undefined {
  if (url.trim() === '') return isAlone ? undefined : 'Enter the URL, or remove the endpoint'
  if (!isHttpUrl(url)) return 'Must be a full http or https URL'
  if (url.trim().length > maxUrlLength) return `Must have at most ${maxUrlLength.toLocaleString()} characters`
  const { username, password } = new URL(url.trim())
  if (username === '' && password === '') return undefined
  return 'Must not carry a user name or password; send them in an Authorization header'
}

const isEmpty = ({ name, value }: HeaderValues): boolean => name.trim() === '' && value === ''

/** A token of RFC 9110, section 5.6.2, in lower case. */
const headerName = /^[!#$%&'*+.^_`|~0-9a-z-]+$/

/** @param before  the headers above it */
function nameError({ name, value }: HeaderValues, before: readonly HeaderValues[]): string | undefined {
  const wanted = name.trim().toLowerCase()
  if (wanted === '') return value === '' ? undefined : 'Enter the name of the header'
  if (!headerName.test(wanted)) return 'Use letters, digits and hyphens: HTTP does not allow other characters here'
  return before.some((other) => other.name.trim().toLowerCase() === wanted) ? 'Another header has this name' : undefined
}

/** Chromium escapes in a host what no host may have, such as a space; a node refuses it. */
const isHttpUrl = (text: string): boolean =>
  /^https?:\/\//i.test(text.trim()) && URL.canParse(text.trim()) && !new URL(text.trim()).host.includes('%')

/** A name that no other destination has: the wanted one, or that with a number. */
export function freeName(wanted: string, taken: readonly string[]): string {
  let name = wanted
  for (let n = 2; taken.includes(name); n++) name = `${wanted} ${n}`
  return name
}
