/** Gets the Temporal CLI by the SDK's own download. */

import { readdir, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Obtained, ObtainOptions } from '../cli-source.ts'
import { runTool } from '../run-tool.ts'

/** Without a new byte for so long, the download is given up. */
const stallMs = 20_000
const watchMs = 500
const progressMs = 5_000

/**
 * The SDK downloads the CLI only on the way to starting a server with it. `--help` makes that start a harmless one, and
 * a process of its own keeps the SDK's runtime out of ours and lets it be ended at any time.
 */
const script = `
  const [sdk, version, downloadDir] = process.argv.slice(1)
  const executable = { type: 'cached-download', version, downloadDir }
  // Of "a: b: c", where each is the reason of the one before, the last one says it all.
  const reasonOf = (error) => String(error.message).replaceAll('\\n', ' ').split(': ').at(-1)
  require(sdk).TestWorkflowEnvironment.createLocal({ server: { executable, extraArgs: ['--help'] } })
    .catch((error) => { console.error(reasonOf(error)); process.exitCode = 1 })
`

/**
 * Downloads the CLI into `folder`.
 */
export async function downloadCli(
  version: string,
  folder: string,
  { env, signal, onProgress }: ObtainOptions,
): Promise<Obtained> {
  const sdk = createRequire(import.meta.url).resolve('@temporalio/testing')
  const ended = new AbortController()
  const watch = watchDownload(folder, ended, onProgress)
  const { lastLine } = await runTool(process.execPath, ['-e', script, sdk, `v${version}`, folder], {
    env,
    cwd: folder,
    signal: AbortSignal.any([signal, ended.signal]),
    onLine: () => {},
  })
  ended.abort()
  await watch
  signal.throwIfAborted()
  const downloaded = (await readdir(folder)).find(isComplete)
  return downloaded === undefined ? { failure: lastLine || 'it made no progress' } : { path: join(folder, downloaded) }
}

/** The SDK writes to another name and renames the file when it is whole. */
function isComplete(file: string): boolean {
  return file.startsWith('temporal-') && !file.endsWith('.downloading')
}

/** Ends the download's process once the file is there, or when it stops growing. */
async function watchDownload(
  folder: string,
  ended: AbortController,
  onProgress: (line: string) => void,
): Promise<void> {
  let [bytes, grownAt, toldAt] = [0, performance.now(), performance.now()]
  while (!ended.signal.aborted) {
    const files = await readdir(folder)
    const size =
      files[0] === undefined
        ? 0
        : await stat(join(folder, files[0])).then(
            (s) => s.size,
            () => bytes,
          )
    const now = performance.now()
    if (size !== bytes) [bytes, grownAt] = [size, now]
    if (files.some(isComplete) || now - grownAt > stallMs) return ended.abort()
    if (now - toldAt > progressMs) {
      onProgress(`Downloading the Temporal server: ${(bytes / 1e6).toFixed(0)} MB`)
      toldAt = now
    }
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, watchMs)
      ended.signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
    })
  }
}
