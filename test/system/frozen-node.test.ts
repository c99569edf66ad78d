/** A node that stands still in the middle of attempts, while another node makes the next ones: the list of attempts has each that the
 *  receiver got. */

import { describe, expect, it } from 'vitest'
import type { Delivery } from '../../src/schemas/delivery.ts'
import { findPostgres } from '../support/postgres.ts'
import { sendAnsweredInTurn, type AnswersInTurn } from '../support/answered-in-turn.ts'
import type { TestApp } from '../support/app.ts'
import type { Answer } from '../support/receiver.ts'
import { startSharedParts } from '../support/shared-parts.ts'
import { until } from '../support/wait.ts'

const missing = findPostgres() === undefined
if (missing) console.warn('No PostgreSQL binaries here: a node that stands still beside another one is not tested.')

/** Temporal gives a task up after 10 s, and its node's own queue after another while. */
const takeOverLimitMs = 120_000

const late = (status: number): Answer => ({ status, delayMs: 4_000 })

interface Case extends AnswersInTurn {
  /** How many of them come before the node stands still. */
  untilFrozen: number
}

const cases: Case[] = [
  { name: 'first attempt that was taken', answers: [late(200)], untilFrozen: 1 },
  { name: 'first attempt that failed', answers: [late(503)], untilFrozen: 1 },
  { name: 'first attempt that hangs', answers: ['hang'], untilFrozen: 1 },
  { name: 'retry that was taken', answers: [{ status: 503 }, late(200)], untilFrozen: 2 },
  { name: 'retry that failed', answers: [{ status: 503 }, late(503)], untilFrozen: 2 },
  { name: 'retry that hangs', answers: [{ status: 503 }, 'hang'], untilFrozen: 2 },
  { name: 'first attempts of a parcel', answers: [late(503)], untilFrozen: 1, isInParcel: true },
  { name: 'retries of a parcel', answers: [{ status: 503 }, late(503)], untilFrozen: 2, isInParcel: true },
]

/** How many attempts the list of a source shows of each of its events, by message id. */
async function attemptsInList(at: Pick<TestApp, 'api'>, sourceId: string): Promise<Map<string, number | null>> {
  const { body } = await at.api<{ items: Delivery[] }>('GET', `/deliveries?sourceId=${sourceId}&limit=50`)
  return new Map(body.items.map(({ messageId, attempts }) => [messageId, attempts]))
}

describe.skipIf(missing)('a node that stands still in the middle of attempts', { timeout: 300_000 }, () => {
  it('tells of them when it goes on, though another node made the next ones', async () => {
    await using parts = await startSharedParts()
    const frozen = await parts.startProcess()
    const begun = await Promise.all(cases.map((one) => sendAnsweredInTurn(frozen, one, one.untilFrozen)))
    process.kill(frozen.pid, 'SIGSTOP')
    await using other = await parts.start()
    for (const { name, messageIds, read } of begun)
      for (const messageId of messageIds)
        await until(
          `the other node delivers the ${name}`,
          async () => (await read(other, messageId)).status === 'delivered',
          takeOverLimitMs,
        )
    process.kill(frozen.pid, 'SIGCONT')

    for (const { name, sourceId, messageIds, requestsOf, read } of begun)
      for (const messageId of messageIds) {
        const { status, attempts, timeline } = await until(`the list has each attempt of the ${name}`, async () => {
          const delivery = await read(other, messageId)
          return delivery.timeline.length === requestsOf(messageId).length && delivery
        })
        expect({ messageId, status, attempts }).toEqual({ messageId, status: 'delivered', attempts: timeline.length })
        await until(
          `the row of ${messageId} counts them`,
          async () => (await attemptsInList(other, sourceId)).get(messageId) === timeline.length,
        )
      }
  })
})
