/** A node as its API shows it. */

import { answerOf } from '@postrider/api'
import type { Status } from '../../schemas/system.ts'
import { reasonOf, type Api } from '../shared/api.ts'
import { CommandError } from '../shared/failure.ts'
import { ok, problem, warning, type Check } from './check.ts'
import { checkClock } from './clock.ts'

const answerLimitMs = 10_000

export async function checkNode(api: Api): Promise<{ isUp: boolean; checks: Check[] }> {
  const startedAt = Date.now()
  const health = await look(`${api.address}/healthz`)
  if ('error' in health)
    return {
      isUp: false,
      checks: [
        problem(
          'node',
          `${api.address} does not answer: ${health.error}`,
          'Start a node with `postrider start`, or give the address of one: --address, POSTRIDER_ADDRESS or a profile.',
        ),
      ],
    }
  const clock = checkClock(`node at ${api.address}`, health.date, startedAt)
  return { isUp: true, checks: [await checkReadiness(api), clock, ...(await checkInside(api))] }
}

async function checkReadiness({ address }: Api): Promise<Check> {
  const ready = await look(`${address}/readyz`)
  if (!('error' in ready) && ready.status === 200) return ok('node', `${address} accepts events`)
  const found = 'error' in ready ? ready.error : `${address}/readyz answers ${ready.status}`
  return problem('node', found, 'It cannot accept events: check Temporal and the database below.')
}

/** What only a token opens. */
async function checkInside(api: Api): Promise<Check[]> {
  try {
    const { role } = await answerOf(api.GET('/session'))
    const status = await answerOf(api.GET('/status'))
    return [ok('token', `role ${role}`), ...checkStatus(status), await checkEndpoints(api)]
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    if (error.code === 'unavailable') return [problem('API', error.message, 'Start that part again; see below.')]
    if (error.exit !== 'unauthorized') return [problem('API', error.message, 'See the log of the node.')]
    const found = api.hasToken ? 'it is wrong' : 'there is none'
    return [
      problem(
        'token',
        found,
        'Use the POSTRIDER_ADMIN_TOKEN of the node, or create one in its web app; save it with: postrider login',
      ),
    ]
  }
}

function checkStatus({ temporal, database, missing, inboxDepth }: Status): Check[] {
  const engine = `${temporal.address}, namespace ${temporal.namespace}`
  return [
    temporal.healthy
      ? ok('Temporal of the node', `${engine}, server ${temporal.serverVersion ?? 'unknown'}`)
      : problem(
          'Temporal of the node',
          `${engine} does not answer`,
          'Start Temporal, or correct TEMPORAL_ADDRESS and restart; events wait in the inbox meanwhile.',
        ),
    database.healthy
      ? ok('database of the node', `${database.kind} ${database.version ?? ''}`)
      : problem(
          'database of the node',
          `${database.kind} does not answer`,
          'Start PostgreSQL, or correct DATABASE_URL.',
        ),
    ...checkWorkers(missing),
    ...checkInbox(inboxDepth),
  ]
}

/** Nothing where the database does not answer, which is a problem of its own. */
function checkInbox(depth: Status['inboxDepth']): Check[] {
  if (depth === null) return []
  if (depth === 0) return [ok('inbox', 'empty')]
  const remedy = 'They start by themselves; if their number grows, Temporal is away or too slow, or an endpoint hangs.'
  return [warning('inbox', `${depth} events wait`, remedy)]
}

/** Told of by nodes that do not deliver themselves. */
const checkWorkers = (missing: Status['missing']): Check[] =>
  missing
    .filter(({ part }) => part === 'worker')
    .map(({ reason }) =>
      problem('workers', reason, 'Start one: `postrider start --role worker`, with the settings of the other nodes.'),
    )

async function checkEndpoints(api: Api): Promise<Check> {
  const overview = await answerOf(api.GET('/overview')).catch((error: unknown) => {
    if (error instanceof CommandError && error.code === 'unavailable') return error
    throw error
  })
  if (overview instanceof CommandError)
    return warning('endpoints', `not known: ${overview.message}`, 'Start that part again, then check once more.')
  const { failingEndpoints } = overview
  if (failingEndpoints.length === 0) return ok('endpoints', 'no endpoint failed at its latest attempt')
  return warning(
    'endpoints',
    failingEndpoints.map(({ url, reason }) => `${url} (${reason})`).join('; '),
    'Look at the response of each with `postrider destinations test <destination>`.',
  )
}

async function look(url: string): Promise<{ status: number; date: Date | undefined } | { error: string }> {
  try {
    const { request } = await import('undici')
    const { statusCode, headers, body } = await request(url, {
      headersTimeout: answerLimitMs,
      bodyTimeout: answerLimitMs,
    })
    await body.dump()
    const date = typeof headers['date'] === 'string' ? new Date(headers['date']) : undefined
    return { status: statusCode, date }
  } catch (error) {
    return { error: reasonOf(error) }
  }
}
