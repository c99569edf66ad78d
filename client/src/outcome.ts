/** What became of a request to the server. */

/** A message that the server did not take, by its place in the batch. */
export interface RejectedItem {
  index: number
  code: string | undefined
  message: string | undefined
}

/** Why a batch was not taken: `refused` is final as far as it can tell, `failed` may pass. */
export interface Failure {
  kind: 'refused' | 'failed'
  message: string
  status?: number
  reason?: string | undefined
  retryAfterMs?: number | undefined
}

export type Outcome = { kind: 'accepted'; rejected: RejectedItem[] } | Failure
