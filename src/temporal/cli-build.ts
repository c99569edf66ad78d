/** Gets the Temporal CLI by building it with Go. */

import { join } from 'node:path'
import { endingAfter } from '../unless-aborted.ts'
import type { Obtained, ObtainOptions } from './cli-source.ts'
import { runTool } from './run-tool.ts'

const progressMs = 5_000
/** A cold build takes 2.5 to 5 minutes on two cores; far beyond that it hangs. */
const limitMs = 30 * 60_000

/**
 * Builds the CLI into `folder` with `go install`; compiler output in the making goes there too.
 */
export async function buildCli(
  version: string,
  folder: string,
  { env, signal, onProgress }: ObtainOptions,
): Promise<Obtained> {
  const startedAt = performance.now()
  let [modules, packages] = [0, 0]
  const tell = () => {
    const seconds = Math.round((performance.now() - startedAt) / 1_000)
    onProgress(
      `Building the Temporal server with Go, once, in 2 to 5 minutes: ${seconds} s, ` +
        `${modules} modules downloaded, ${packages} packages compiled`,
    )
  }
  const timer = setInterval(tell, progressMs)
  try {
    const source = `github.com/temporalio/cli/cmd/temporal@v${version}`
    const label = `-ldflags=-s -w -X github.com/temporalio/cli/temporalcli.Version=${version}`
    const { code, lastLine } = await endingAfter(limitMs, signal, (end) =>
      runTool('go', ['install', '-v', label, source], {
        env: { ...env, GOBIN: folder, GOTMPDIR: folder },
        cwd: folder,
        signal: end,
        onLine: (line) => {
          if (line.startsWith('go: downloading')) modules++
          else if (!line.startsWith('go:')) packages++
        },
      }),
    )
    signal.throwIfAborted()
    if (code !== 0) return { failure: lastLine || 'it took too long' }
    return { path: join(folder, process.platform === 'win32' ? 'temporal.exe' : 'temporal') }
  } finally {
    clearInterval(timer)
  }
}
