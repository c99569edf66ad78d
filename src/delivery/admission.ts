/** What is asked of a node's gate, and what it answers. */

/** First attempts and retries have places of their own: neither keeps the other from an endpoint. */
export type AttemptKind = 'first' | 'retry'

export interface GatedEndpoint {
  id: string
  url: string
  /** Scheme, host and port: the sockets that it uses. */
  origin: string
  /** Bounds that are set for it; absent: none. */
  maxPerSecond?: number | undefined
  maxConcurrent?: number | undefined
}

/** What is said of an attempt that asks. */
export interface Asked {
  /** An operator ordered it: an endpoint that is down gets it although no probe is due. */
  isOrdered?: boolean
  /** How many attempts stand behind it, and are turned away with it; it alone unless given. 0: others need not wait for it. */
  attempts?: number
}

/** What an attempt told of its endpoint.
 *  `answered`: any answer of an endpoint that works, also one that refuses the message for good; `failed`: an answer that may
 *  pass, or none; `unused`: nothing was sent. */
export type AttemptResult = 'answered' | 'failed' | 'unused'

/** The attempt may be made, and whoever makes it calls `leave` when it is over; further calls do nothing. */
export interface Entry {
  kind: 'go'
  leave: (result: AttemptResult) => void
}

/** The attempt must not be made now; it may ask again in `inMs` milliseconds. The reason is in words for the operator. */
export interface TurnedAway {
  kind: 'later'
  inMs: number
  reason: string
  /** Only a bound that is set for the endpoint keeps it back. */
  isPaced?: true
}

/** The answer of the gate. */
export type Admission = Entry | TurnedAway
