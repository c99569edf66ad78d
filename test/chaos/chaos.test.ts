/** The short form of `npm run chaos`: the same load, faults and account, with a fixed seed. */

import { delimiter, dirname } from 'node:path'
import { expect, inject, it } from 'vitest'
import { makeServerFolder } from '../support/temporal.ts'
import { takeAccount } from './account.ts'
import { accountText } from './account-text.ts'
import { runChaos } from './run.ts'

it(
  'loses no acknowledged event, and repeats what a killed node had under way at most',
  { timeout: 300_000 },
  async () => {
    const lines: string[] = []
    let lostOfUnsent: string[] = []
    const result = await runChaos({
      seed: 4,
      seconds: 20,
      eventsPerSecond: 20,
      faultCount: 4,
      kinds: ['node killed', 'Temporal killed', 'node stopped gracefully', 'endpoint closed'],
      database: 'embedded',
      dataDir: await makeServerFolder(),
      settleSeconds: 180,
      environment: { PATH: [dirname(inject('temporalCli')), process.env['PATH']].join(delimiter) },
      inspect: async ({ installation, endpoint }) => {
        const acknowledged = new Map([['never-sent', { sourceId: 'src_none', at: 0 }]])
        const load = { acknowledged, unacknowledged: new Set<string>(), stop: () => Promise.resolve() }
        lostOfUnsent = (await takeAccount(load, endpoint, installation)).lost
      },
      report: (line) => lines.push(line),
      signal: new AbortController().signal,
    })
    const account = [...lines, accountText(result)].join('\n')
    expect(result.faults, account).toHaveLength(4)
    expect(result.acknowledged, account).toBeGreaterThan(100)
    expect(result.lost, account).toEqual([])
    // The account finds what is lost.
    expect(lostOfUnsent).toEqual(['never-sent'])
    expect(result.listed, account).toEqual({})
    expect(result.unexplained, account).toEqual([])
  },
)
