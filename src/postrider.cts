#!/usr/bin/env node
/** Entry of the `postrider` command. CommonJS, because reading ES modules starts the thread pool, whose size counts once:
 *  with the usual 4 threads, a few names whose name servers are dead would hold up all new connections of a node. */

if (process.argv.slice(2).find((word) => !word.startsWith('-')) === 'start') process.env['UV_THREADPOOL_SIZE'] ??= '16'
void import('./cli.ts')
