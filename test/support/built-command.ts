/** The built program, at the entry that its users run. */

import { fileURLToPath } from 'node:url'

export const builtCommand = fileURLToPath(new URL('../../dist/src/postrider.cjs', import.meta.url))
