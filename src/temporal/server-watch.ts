/** Finds out that the embedded server runs, but can no longer use its database. */

import { setTimeout as sleep } from 'node:timers/promises'
import { connectPlainly, lookAtServer, type ServerHealth } from './server-health.ts'
import { embeddedNamespace } from './server-launch.ts'

const lookPauseMs = 3_000

/** Long: what a look that is given up asked of the database is interrupted. */
const lookTimeoutMs = 30_000

/** So many looks in a row, over 9 s or more, tell that the server does not mend by itself. */
const brokenLooks = 4

/** Looks at the server until it has ended. One that gives no answer may be frozen or overloaded and come round, so nothing
 *  follows from that.
 *  @returns undefined then; as soon as it is found to answer with errors of its database alone, the last one */
export async function untilBroken(address: string, ended: Promise<void>): Promise<string | undefined> {
  const connection = connectPlainly(address)
  const look = async (): Promise<ServerHealth> => {
    await sleep(lookPauseMs, undefined, { ref: false })
    return lookAtServer(connection, embeddedNamespace, lookTimeoutMs)
  }
  const end = ended.then(() => undefined)
  try {
    for (let broken = 0; ;) {
      const health = await Promise.race([look(), end])
      if (health === undefined) return undefined
      if (health.kind === 'serving') broken = 0
      if (health.kind === 'broken' && ++broken === brokenLooks) return health.reason
    }
  } finally {
    await connection.close()
  }
}
