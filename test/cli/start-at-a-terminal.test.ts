/** What a first start shows at a terminal while it builds the Temporal server. */

import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openShell } from './command.ts'

it('rewrites the line of the build, and ends with Ctrl-C', { timeout: 180_000 }, async () => {
  await using shell = await openShell()
  const bin = join(shell.folder, 'bin')
  await mkdir(bin)
  // A build that goes on until it is ended.
  await writeFile(join(bin, 'go'), '#!/bin/sh\nexec sleep 600\n')
  await chmod(join(bin, 'go'), 0o755)
  const env = {
    ...{ PATH: `${bin}:/usr/bin:/bin`, POSTRIDER_DATA_DIR: join(shell.folder, 'data') },
    ...{ PORT: '0', POSTRIDER_TEMPORAL_PORT: '0', POSTRIDER_TEMPORAL_UI_PORT: '0' },
    // No route for a download: the proxy's port is closed.
    ...{ HTTPS_PROXY: 'http://127.0.0.1:9', NO_PROXY: '' },
  }
  const { code, shown } = await shell.atTerminal(['start'], '\x1b[0JBuilding the Temporal server', '\x03', env)
  expect(code).toBe(130)
  expect(shown).not.toContain('{"level"')
})
