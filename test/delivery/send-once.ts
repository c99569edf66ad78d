/** A program of its own for tests: posts `{}` to each URL in its arguments, in turn, and prints the outcomes as JSON. */

import { createSender } from '../../src/delivery/send.ts'
import type { SendOutcome } from '../../src/delivery/send.ts'

const sender = createSender({ allowedNetworks: ['127.0.0.0/8'] })
const outcomes: SendOutcome[] = []
for (const url of process.argv.slice(2)) {
  outcomes.push(await sender.send({ url, headers: {}, body: '{}' }))
}
await sender.close()
process.stdout.write(JSON.stringify(outcomes))
