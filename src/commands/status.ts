/** `postrider status`: how a node and what it stands on do. */

import { answerOf } from '@postrider/api'
import { Command } from 'commander'
import type { Status } from '../schemas/system.ts'
import { facts } from './shared/output.ts'
import { openSession } from './shared/session.ts'

export const statusCommand = (): Command =>
  new Command('status')
    .description('show how the node, its Temporal and its database do')
    .action(async (_options: unknown, self: Command) => {
      const { api, out } = await openSession(self)
      out.result(await answerOf(api.GET('/status')), (status) => asText(api.address, status))
    })

const asText = (address: string, { version, nodeVersion, temporal, database, missing, inboxDepth }: Status): string =>
  facts({
    node: `${address}, version ${version}, Node.js ${nodeVersion}`,
    Temporal: `${temporal.address}, namespace ${temporal.namespace}, server ${temporal.serverVersion ?? 'unknown'}`,
    'Temporal UI': temporal.uiUrl,
    database: `${database.kind} ${database.version ?? ''}`,
    'waiting events': inboxDepth ?? 'unknown',
    away: missing.length === 0 ? 'nothing' : missing.map(({ part, reason }) => `${part} (${reason})`).join(', '),
  })
