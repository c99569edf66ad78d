/** `postrider keys`: which encryption keys hold stored secrets, and the retirement of old ones. */

import { Command } from 'commander'
import ms from 'ms'
import type { EncryptionKey } from '../config.ts'
import type { Database } from '../db/database.ts'
import type { SealedValue } from '../db/sealed-columns.ts'
import type { StoredSecrets } from './keys/stored-secrets.ts'
import { CommandError } from './shared/failure.ts'
import { printable, table } from './shared/output.ts'
import { startProgress } from './shared/progress.ts'
import { confirm } from './shared/prompt.ts'
import { outputOf } from './shared/session.ts'

/** Secrets that are named when they cannot be read; of more, only the number is printed. */
const maxNamed = 1_000

/** One key and what it holds. */
interface KeyUse {
  id: string
  /** The `newest` of the ring seals, each `older` one only opens; a `missing` one is not in the ring. */
  state: 'newest' | 'older' | 'missing'
  /** Stored secrets that need it. */
  secrets: number
  /** Whether no stored secret needs it: Temporal may still have deliveries that do. */
  mayBeDropped: boolean
}

type Unreadable = SealedValue & { reason: string }

export function keysCommand(): Command {
  const command = new Command('keys').description('the keys of POSTRIDER_ENCRYPTION_KEYS and what is stored with them')

  command
    .command('show')
    .description('how many stored secrets each key holds, and so which may be dropped, and when')
    .action(async (_options: unknown, self: Command) => {
      await open(async ({ database, keys, retentionMs }) =>
        outputOf(self).result({ keys: await keyUses(database, keys) }, (result) => asText(result, retentionMs)),
      )
    })

  command
    .command('rotate')
    .description('seal all stored secrets with the newest key')
    .addHelpText(
      'after',
      [
        '',
        'Runs beside the nodes, which must all know the newest key already; the embedded database must not be in use. May',
        'be cut off and run again at any time. Ends with exit code 1 when a secret could not be read; it stays as it is.',
      ].join('\n'),
    )
    .option('--yes', 'do not ask')
    .action(async (options: { yes?: true }, self: Command) => {
      await open((stored) => rotate(stored, options, self))
    })
  return command
}

/** Loaded only here: other commands need no database. */
async function open(work: (stored: StoredSecrets) => Promise<void>): Promise<void> {
  const { withStoredSecrets } = await import('./keys/stored-secrets.ts')
  await withStoredSecrets(process.env, work)
}

async function keyUses(database: Database, keys: readonly EncryptionKey[]): Promise<KeyUse[]> {
  const { countByKey } = await import('../db/sealed-columns.ts')
  const counts = await countByKey(database)
  const ring = keys.map(({ id }, index): KeyUse => {
    const secrets = counts.get(id) ?? 0
    return { id, state: index === 0 ? 'newest' : 'older', secrets, mayBeDropped: index > 0 && secrets === 0 }
  })
  const missing = [...counts].filter(([id]) => !keys.some((key) => key.id === id))
  return [...ring, ...missing.map(([id, secrets]): KeyUse => ({ id, state: 'missing', secrets, mayBeDropped: false }))]
}

const asText = ({ keys }: { keys: KeyUse[] }, retentionMs: number): string => {
  const uses = table(
    ['key', 'state', 'secrets', 'may be dropped'],
    keys.map(({ id, state, secrets, mayBeDropped }) => [id, state, secrets, mayBeDropped ? 'yes, later' : 'no']),
    '',
  )
  return keys.some(({ mayBeDropped }) => mayBeDropped) ? `${uses}\n${whenToDrop(retentionMs)}` : uses
}

const whenToDrop = (retentionMs: number): string =>
  [
    'Temporal keeps what was sealed while an older key was the newest: drop that key once the deliveries of its time',
    `have ended, and no sooner than ${ms(retentionMs)} (POSTRIDER_RETENTION, or that of Temporal's namespace) after that.`,
  ].join('\n')

async function rotate(
  { database, keys, isEmbedded, retentionMs }: StoredSecrets,
  options: { yes?: true },
  self: Command,
) {
  const [{ createSecretBox }, { resealAll }] = await Promise.all([
    import('../secrets.ts'),
    import('../db/sealed-columns.ts'),
  ])
  const newest = keys[0].id
  const before = await keyUses(database, keys)
  const total = before.filter(({ id }) => id !== newest).reduce((sum, { secrets }) => sum + secrets, 0)
  if (total > 0 && !isEmbedded)
    await confirm(`A node that does not have the key ${newest} yet cannot read its settings any more. Go on?`, options)
  const out = outputOf(self)
  const progress = await startProgress(out, 'Sealing', total)
  const unreadable: Unreadable[] = []
  let unreadableCount = 0
  const resealed = await resealAll(database, createSecretBox(keys), newest, {
    onProgress: (done) => progress.update(done),
    onUnreadable: (value, { message: reason }) => {
      if (unreadableCount++ < maxNamed) unreadable.push({ ...value, reason })
    },
  }).finally(() => progress.stop())
  const after = await keyUses(database, keys)
  out.result({ resealed, keys: after, unreadable, unreadableCount }, (result) =>
    [
      `${resealed} sealed with ${newest}.`,
      asText(result, retentionMs),
      ...unreadable.map((one) => `Not read: ${one.table} ${one.id}, ${one.column}: ${printable(one.reason)}`),
    ].join('\n'),
  )
  if (unreadableCount > 0)
    throw new CommandError('failed', `${unreadableCount} secret${unreadableCount === 1 ? '' : 's'} could not be read`)
}
