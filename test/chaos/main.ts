/** `npm run chaos`: a run as its options say. Exit code 1 when an acknowledged event was lost. */

import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { findPostgres } from '../support/postgres.ts'
import { accountText } from './account-text.ts'
import { runChaos } from './run.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seconds: { type: 'string', default: '1500' },
    rate: { type: 'string', default: '40' },
    faults: { type: 'string', default: '40' },
    kinds: { type: 'string' },
    database: { type: 'string', default: findPostgres() === undefined ? 'embedded' : 'postgres' },
    settle: { type: 'string', default: '600' },
  },
})

const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort(new Error(signal)))

const result = await runChaos({
  seed: values.seed === undefined ? randomInt(2 ** 31) : whole('seed'),
  seconds: whole('seconds'),
  eventsPerSecond: whole('rate'),
  faultCount: whole('faults'),
  ...(values.kinds !== undefined && { kinds: values.kinds.split(',') }),
  database: values.database === 'embedded' ? 'embedded' : 'postgres',
  settleSeconds: whole('settle'),
  report: (line) => console.log(line),
  signal: interrupted.signal,
})
console.log(accountText(result))
process.exitCode = result.lost.length > 0 ? 1 : 0

function whole(name: 'seed' | 'seconds' | 'rate' | 'faults' | 'settle'): number {
  const value = Number(values[name])
  if (!Number.isInteger(value) || value < 0) throw new Error(`--${name} must be a whole number`)
  return value
}
