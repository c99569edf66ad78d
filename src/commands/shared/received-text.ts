import type { ReceivedEvent } from '../../receiver/receiver.ts'
import { printable } from './output.ts'

/** Longest name or id that is shown, in characters. */
const maxLength = 80

const short = (text: string): string => printable(text).slice(0, maxLength)

/** What a receiver got, on one line. @param isFetched  whether it came from the node itself, so that no signature was looked at */
export function receivedLine(received: ReceivedEvent, isFetched = false): string {
  const { at, type, event, userId, anonymousId, genuine, forwarded } = received
  const who = userId ?? anonymousId
  const what = [type ?? 'no event', event ?? ''].filter(Boolean).map(short).join(' ')
  return [
    `${at.slice(11, 19)}  ${what}${who === null ? '' : ` by ${short(who)}`}`,
    isFetched ? 'fetched' : genuine ? 'signature valid' : 'signature NOT valid, refused',
    ...(forwarded === null ? [] : [`forwarded: ${printable(forwarded)}`]),
  ].join(', ')
}
