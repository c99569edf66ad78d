/** `postrider audiences upload|sync|resync|undo|confirm|stop`: runs a sync and shows how it goes. */

import { answerOf } from '@postrider/api'
import type { Command } from 'commander'
import type { Sync } from '../schemas/audience.ts'
import { type Api, uploading } from './shared/api.ts'
import { CommandError } from './shared/failure.ts'
import { findAudience } from './shared/lookup.ts'
import { membersUpload } from './shared/members-upload.ts'
import { timeoutOption } from './shared/options.ts'
import { facts } from './shared/output.ts'
import { poll } from './shared/poll.ts'
import { openSession } from './shared/session.ts'

interface WaitOptions {
  wait: boolean
  timeout: number
}

const withWait = (command: Command): Command =>
  command
    .option('--no-wait', 'do not wait until the sync ends')
    .addOption(timeoutOption('how long to wait until the sync ends', '1h'))

/** Adds the commands that end in a sync. */
export function addSyncCommands(command: Command): void {
  withWait(command.command('upload <audience>').argument('<file>', 'NDJSON or CSV; - for standard input'))
    .description('replace all members with those in a file (NDJSON or CSV; - for standard input), and sync')
    .option('--format <format>', 'ndjson or csv (default: from the file name)')
    .action(
      async (wanted: string, file: string, { format, ...wait }: WaitOptions & { format?: string }, self: Command) => {
        const { api, out } = await openSession(self)
        const { id } = await findAudience(api, wanted)
        const upload = uploading(await membersUpload(file, format, out))
        const { syncId } = await answerOf(api.PUT('/audiences/{id}/members', { params: { path: { id } }, ...upload }))
        await follow(self, id, syncId, wait)
      },
    )

  for (const [action, what] of [
    ['sync', 'fetch the members and send what changed'],
    ['resync', 'send every member again'],
  ] as const)
    withWait(command.command(`${action} <audience>`))
      .description(what)
      .action(async (wanted: string, wait: WaitOptions, self: Command) => {
        const { api } = await openSession(self)
        const { id } = await findAudience(api, wanted)
        const { syncId } = await answerOf(api.POST(`/audiences/{id}/${action}`, { params: { path: { id } } }))
        await follow(self, id, syncId, wait)
      })

  for (const [action, what] of [
    ['undo', 'undo a sync: destinations are told the members before it'],
    ['confirm', 'run a sync that was refused because it removes many members'],
    ['stop', 'stop a running sync'],
  ] as const)
    withWait(command.command(`${action} <audience>`).argument('[sync]', 'id of the sync; the latest unless given'))
      .description(what)
      .action(async (wanted: string, sync: string | undefined, wait: WaitOptions, self: Command) => {
        const { api } = await openSession(self)
        const { id } = await findAudience(api, wanted)
        const path = { id, syncId: sync ?? (await latestSync(api, id)) }
        const { syncId } = await answerOf(api.POST(`/audiences/{id}/syncs/{syncId}/${action}`, { params: { path } }))
        await follow(self, id, syncId, wait)
      })
}

async function latestSync(api: Api, id: string): Promise<string> {
  const params = { path: { id }, query: { limit: 1 } }
  const [latest] = (await answerOf(api.GET('/audiences/{id}/syncs', { params }))).items
  if (latest === undefined) throw new CommandError('notFound', 'the audience has had no sync')
  return latest.id
}

async function follow(
  command: Command,
  audienceId: string,
  syncId: string,
  { wait, timeout }: WaitOptions,
): Promise<void> {
  const until = AbortSignal.timeout(timeout)
  const { api, out } = await openSession(command, until)
  if (!wait) return out.result({ syncId }, () => `Requested: ${syncId}`)
  let last: Sync | undefined
  let shown = ''
  const ended = await poll(until, async () => {
    last = await answerOf(api.GET('/audiences/{id}/syncs/{syncId}', { params: { path: { id: audienceId, syncId } } }))
    const stage = stageOf(last)
    if (stage !== shown) out.note(stage)
    shown = stage
    return last.status === 'running' ? undefined : last
  })
  out.result(last ?? null, (sync) => (sync === null ? 'The sync was not seen yet.' : syncFacts(sync)))
  if (ended === undefined)
    throw new CommandError('timeout', `the sync ${syncId} is still running, and continues without this command`)
  if (ended.status === 'refused')
    throw new CommandError(
      'failed',
      `the sync was refused: ${ended.reason ?? ''}. To run it all the same: postrider audiences confirm <audience>`,
    )
  if (ended.status === 'failed') throw new CommandError('failed', `the sync failed: ${ended.reason ?? ''}`)
}

const stageOf = ({ phase, sent, rowsRead }: Sync): string =>
  phase === 'sending' ? `sending: ${sent} sent` : phase === 'loading' ? `loading: ${rowsRead} rows` : phase

const syncFacts = (sync: Sync): string =>
  facts({
    sync: sync.id,
    status: sync.status,
    'rows read': `${sync.rowsRead}, ${sync.badRows} bad`,
    added: sync.added,
    removed: sync.removed,
    unchanged: sync.unchanged,
    sent: sync.sent,
    'retried as deliveries': sync.handedOn,
    failed: sync.failed,
    reason: sync.reason,
  })
