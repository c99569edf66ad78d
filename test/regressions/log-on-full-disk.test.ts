/** Symptom: a node whose log went to a disk that was full for a moment ended.
 *  Cause: nobody listened to the errors of the log's stream.
 *  Consequence: ingest stopped, and what was under way was sent again after the next start. */

import { expect, it } from 'vitest'
import { runScript } from '../support/run-script.ts'

/** Its writes fail as on a full disk. */
const fullDevice = '/dev/full'

it.runIf(process.platform === 'linux')('a log that cannot be written ends no process', async () => {
  const script = runScript(
    `import { createLogger } from '../src/logger.ts'
     import { setTimeout as sleep } from 'node:timers/promises'
     const logger = await createLogger({ level: 'info', version: '1.0.0', role: 'api', destination: process.argv[2] })
     for (let line = 0; line < 3; line++) {
       logger.info('not written')
       await sleep(100)
     }
     process.stdout.write('alive\\n', () => process.exit(7))`,
    [fullDevice],
  )
  expect(await script.exited).toBe(7)
})
