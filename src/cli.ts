#!/usr/bin/env node
/** The `postrider` command. */

import { Command } from 'commander'
import { start } from './commands/start.ts'

const program = new Command('postrider').description('Event delivery to HTTP endpoints')
program.command('start').description('run a node: API, web app and worker').action(start)
await program.parseAsync()
