#!/usr/bin/env node
/** Entry of the package `@postrider/cli`: the `postrider` command alone, for nodes that run elsewhere. */

import { alone } from './commands/alone.ts'
import { run } from './commands/run.ts'

await run(alone())
