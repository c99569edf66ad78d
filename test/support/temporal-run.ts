/** The Temporal server of a test run, and what is left of the servers of runs that were killed. */

import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { openDataFolder } from '../../src/data-folder.ts'
import { findTemporalCli } from '../../src/temporal/cli-binary.ts'
import { endOrphan, startEmbeddedServer } from '../../src/temporal/embedded-server.ts'

const runsFolder = join(tmpdir(), `postrider-test-runs-${userInfo().username}`)

/**
 * Starts the server of a test run in a folder of its own. What runs that were killed have left (folders, and servers that
 * still run) is removed first; runs that live are left alone.
 */
export async function startTestTemporal(onProgress: (line: string) => void, signal: AbortSignal) {
  await mkdir(runsFolder, { recursive: true, mode: 0o700 })
  await removeDeadRuns()
  const cli = await findTemporalCli({ env: process.env, onProgress, signal })
  const folder = await openDataFolder(await mkdtemp(join(runsFolder, 'run-')))
  const removeFolder = async () => {
    await folder.close()
    await rm(folder.path, { recursive: true, force: true })
  }
  try {
    const server = await startEmbeddedServer({ cli, dataDir: folder.path, port: 0, uiPort: 0, onProgress, signal })
    const stop = async () => {
      await server.stop()
      await removeFolder()
    }
    return { cli, address: server.address, folder: folder.path, stop }
  } catch (error) {
    await removeFolder()
    throw error
  }
}

async function removeDeadRuns(): Promise<void> {
  for (const name of await readdir(runsFolder)) {
    const path = join(runsFolder, name)
    // A folder that nobody has claimed yet belongs to a run that is just beginning.
    if (!(await readdir(path).catch(() => [])).some((file) => file.endsWith('.lock'))) continue
    try {
      const folder = await openDataFolder(path)
      for (const server of [path, ...(await serverFolders(path))]) await endOrphan(server)
      await rm(path, { recursive: true, force: true })
      await folder.close()
    } catch {
      // A run that lives.
    }
  }
}

/** Data folders of servers that test files ran for themselves. */
async function serverFolders(run: string): Promise<string[]> {
  const names = await readdir(run)
  return names.filter((name) => name.startsWith('server-')).map((name) => join(run, name))
}
