/** Builds all after `npm install`. `npx postrider` comes by here as well, since it links this checkout: what is built stays as it is then, beneath
 *  a node that may run from it. */

import { existsSync } from 'node:fs'
import process from 'node:process'

const isLinkedByNpx = process.env.npm_command === 'exec'

if (!isLinkedByNpx || !existsSync('dist/src/postrider.cjs')) await import('./build.js')
