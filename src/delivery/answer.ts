import type { EndpointOptions } from '../schemas/endpoint-options.ts'

/** What an endpoint answered. */
export interface Answer {
  status: number
  /** Headers of the answer, by their names in lower case. */
  headers: Record<string, string | string[] | undefined>
  /** Beginning of the body, as it came over the wire. */
  body: Buffer
  /** From the start of the exchange to the head of the answer, in milliseconds. */
  durationMs: number
}

/** Whether a status means that the endpoint took the message.
 *  @param also  statuses and ranges that do so beside 2xx; none unless given */
export const isSuccess = (status: number, also?: EndpointOptions['successStatuses']): boolean =>
  (status >= 200 && status < 300) || also?.some((one) => isAmong(status, one)) === true

const isAmong = (status: number, one: EndpointOptions['successStatuses'][number]): boolean => {
  if (typeof one === 'number') return status === one
  const [first = 0, last = 0] = one.split('-').map(Number)
  return first <= status && status <= last
}
