/** The `postrider` command, of the whole of Postrider. */

import { run } from './commands/run.ts'
import { whole } from './commands/whole.ts'

await run(whole())
