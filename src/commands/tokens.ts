/** `postrider tokens`: API tokens, which open the API beside the admin token. */

import { answerOf } from '@postrider/api'
import { Command, Option } from 'commander'
import { roles, type ApiToken, type Role } from '../schemas/access.ts'
import type { Api } from './shared/api.ts'
import { listAll, pick } from './shared/lookup.ts'
import { facts, table } from './shared/output.ts'
import { confirm } from './shared/prompt.ts'
import { openSession } from './shared/session.ts'

const listTokens = (api: Api): Promise<ApiToken[]> => listAll((query) => api.GET('/tokens', { params: { query } }))

export function tokensCommand(): Command {
  const command = new Command('tokens').description('API tokens for programs and people')

  command
    .command('list')
    .description('show all API tokens, without what is secret')
    .action(async (_options: unknown, self: Command) => {
      const { api, out } = await openSession(self)
      out.result({ items: await listTokens(api) }, ({ items }) =>
        table(
          ['id', 'name', 'role', 'created', 'last used'],
          items.map(({ id, name, role, createdAt, lastUsedAt }) => [id, name, role, createdAt, lastUsedAt]),
          'No API tokens yet. Create one with: postrider tokens create <name>',
        ),
      )
    })

  command
    .command('create')
    .argument('<name>', 'name of the token, which the audit log shows')
    .description('create an API token; it is shown this once')
    .addOption(new Option('--role <role>', 'what it may do').choices(roles).default('viewer'))
    .action(async (name: string, { role }: { role: Role }, self: Command) => {
      const { api, out } = await openSession(self)
      const made = await answerOf(api.POST('/tokens', { body: { name, role } }))
      out.result(made, (one) => facts({ id: one.id, name: one.name, role: one.role, token: one.token }))
    })

  command
    .command('revoke <token>')
    .description('revoke an API token; it stops working at once')
    .option('--yes', 'do not ask for confirmation')
    .action(async (wanted: string, options: { yes?: true }, self: Command) => {
      const { api, out } = await openSession(self)
      const { id, name } = pick('token', await listTokens(api), wanted)
      await confirm(`Revoke the token ${name}? It stops working at once.`, options)
      await answerOf(api.DELETE('/tokens/{id}', { params: { path: { id } } }))
      out.result({ revoked: id }, () => `Revoked ${id}.`)
    })
  return command
}
