/** What an endpoint answered. */
export interface Answer {
  status: number
  /** Headers of the answer, by their names in lower case. */
  headers: Record<string, string | string[] | undefined>
  /** Beginning of the body, as it came over the wire; empty for a success, which nobody reads on. */
  body: Buffer
  /** From the start of the exchange to the head of the answer, in milliseconds. */
  durationMs: number
}

/** Whether a status means that the endpoint took the message. */
export const isSuccess = (status: number): boolean => status >= 200 && status < 300
