/** What an operator can do about an endpoint that fails, by the reason of its latest attempt. */

export interface Advice {
  /** Whether events fail at once and are not tried again. */
  isFinal: boolean
  text: string
  /** Where the action leads: to the page of the destination. */
  action: string
}

/** Client errors that speak of the moment: such an answer is tried again. */
const passing = new Set([408, 425, 429])

/** @param reason  as the server words it: `The endpoint answered 404 Not Found.`
 *  @param othersMayTakeIt  the destination has more endpoints, of which one is enough */
export function advice(reason: string, othersMayTakeIt: boolean): Advice {
  const final = (cause: string, action: string): Advice => ({
    isFinal: true,
    text: `${cause} ${ends(othersMayTakeIt)}`,
    action,
  })
  const status = Number(/^The endpoint answered (\d{3})/.exec(reason)?.[1])
  if (status === 401 || status === 403) return final('It does not accept the sender.', 'Check secret and headers')
  if (status === 404 || status === 405 || status === 410)
    return final('Nothing accepts events at this URL.', 'Correct the URL')
  if (status >= 300 && status < 400) return final('It redirects to another URL.', 'Enter the final URL')
  if (status >= 400 && status < 500 && !passing.has(status))
    return final('It does not accept what is sent.', 'Send a test event')
  if (reason.startsWith('The certificate of')) return final('Its certificate is not trusted.', 'Check the URL')
  if (reason.includes('where deliveries may not go') || reason.includes(' has no address to deliver to: '))
    return final('Deliveries may not go to this address.', 'Correct the URL')
  if (/^The request to \S+ cannot be sent: /.test(reason))
    return final('No request can be made of its URL and headers.', 'Correct URL and headers')
  return { isFinal: false, text: retries(othersMayTakeIt), action: 'See what waits, or pause it' }
}

const ends = (othersMayTakeIt: boolean): string =>
  othersMayTakeIt
    ? 'Events are not retried here; another endpoint of the destination may still take them.'
    : 'Its events fail at once and are not retried.'

const retries = (othersMayTakeIt: boolean): string =>
  othersMayTakeIt
    ? 'Events that no other endpoint of the destination took are retried automatically.'
    : 'Its events are retried automatically.'
