/** What an operator can do about an endpoint that fails, by the reason of its latest attempt. */

export interface Advice {
  /** Whether events fail at once and are not tried again. */
  isFinal: boolean
  text: string
  /** Where the action leads: to the page of the destination. */
  action: string
}

/** @param reason  as the server words it: `The endpoint answered 404 Not Found.`
 *  @param isFinal  whether what fails so is not tried again at this endpoint
 *  @param othersMayTakeIt  the destination has more endpoints, of which one is enough
 *  @param isTemporalAway  nothing is tried again until it answers */
export function advice(
  { reason, isFinal }: { reason: string; isFinal: boolean },
  { othersMayTakeIt, isTemporalAway }: { othersMayTakeIt: boolean; isTemporalAway: boolean },
): Advice {
  if (!isFinal) {
    const when = isTemporalAway ? 'once Temporal answers again' : 'automatically'
    return { isFinal, text: `${retries(othersMayTakeIt)} ${when}.`, action: 'See what waits, or pause it' }
  }
  const { cause, action } = mendable(reason)
  return { isFinal, text: `${cause} ${ends(othersMayTakeIt)}`, action }
}

/** What is to be mended where a failure is final. */
function mendable(reason: string): { cause: string; action: string } {
  const status = Number(/^The endpoint answered (\d{3})/.exec(reason)?.[1])
  if (status === 401 || status === 403)
    return { cause: 'It does not accept the sender.', action: 'Check secret and headers' }
  if (status === 404 || status === 405 || status === 410)
    return { cause: 'Nothing accepts events at this URL.', action: 'Correct the URL' }
  if (status < 400) return { cause: 'It redirects to another URL.', action: 'Enter the final URL' }
  if (status >= 400) return { cause: 'It does not accept what is sent.', action: 'Send a test event' }
  if (reason.startsWith('The certificate of'))
    return { cause: 'Its certificate is not trusted.', action: 'Check the URL' }
  if (reason.includes('where deliveries may not go') || reason.includes(' has no address to deliver to: '))
    return { cause: 'Deliveries may not go to this address.', action: 'Correct the URL' }
  return { cause: 'No request can be made of its URL and headers.', action: 'Correct URL and headers' }
}

const ends = (othersMayTakeIt: boolean): string =>
  othersMayTakeIt
    ? 'Events are not retried here; another endpoint of the destination may still take them.'
    : 'Its events fail at once and are not retried.'

const retries = (othersMayTakeIt: boolean): string =>
  othersMayTakeIt ? 'Events that no other endpoint of the destination took are retried' : 'Its events are retried'
