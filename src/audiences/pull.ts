/** A membership from where it is kept, whatever that is. */

import type { AudienceKind, Membership } from '../schemas/audience.ts'
import type { Reading } from './member-row.ts'
import { MembershipError } from './membership-error.ts'
import { pullOverHttp, type PullGuard } from './pull-http.ts'
import { pullOverSql } from './pull-sql.ts'

export type Pulled =
  | { kind: 'unchanged' }
  /** `etag` is known once all was read. */
  | { kind: 'rows'; readings: AsyncIterable<Reading[]>; etag: () => string | undefined }

/** @param etag  of the membership that was taken over last: it need not be fetched again
 *  @throws MembershipError when it cannot be fetched and another try would not help */
export async function pullMembership(
  audience: { kind: AudienceKind; membership: Membership; etag: string | null },
  guard: PullGuard,
  signal: AbortSignal,
): Promise<Pulled> {
  const { kind, membership } = audience
  switch (membership.kind) {
    case 'push':
      throw new MembershipError('it is pushed, not fetched')
    case 'http': {
      const { url, headers = {}, format } = membership
      return pullOverHttp({ url, headers, format, kind, etag: audience.etag ?? undefined }, guard, signal)
    }
    case 'sql': {
      const { connectionString = '', query, statementTimeoutSeconds } = membership
      const readings = pullOverSql({ connectionString, query, statementTimeoutSeconds, kind }, guard, signal)
      return { kind: 'rows', readings, etag: () => undefined }
    }
  }
}
