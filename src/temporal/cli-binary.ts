/** Finds the official `temporal` command, which holds the embedded server, or gets it once and keeps it. */

import { execFile } from 'node:child_process'
import { chmod, mkdir, rename, rm } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import envPaths from 'env-paths'
import { StartError } from '../errors.ts'
import { acquireProcessLock } from '../process-lock.ts'
import { buildCli } from './cli-build.ts'
import type { Obtained, ObtainOptions } from './cli-source.ts'
import { downloadCli } from './sdk-internals/cli-download.ts'

export interface FindCliOptions {
  /** Environment of the tools that are run; its PATH is searched. */
  env: NodeJS.ProcessEnv
  /** Where a downloaded or built CLI is kept; the user's cache folder by default. */
  cacheDir?: string
  /** Ends a download or a build in progress. */
  signal?: AbortSignal
  /** Takes one line of text at a time, for the operator who waits. */
  onProgress: (line: string) => void
}

/** The newest release whose Go module can be installed as it is. It holds server 1.29.1. */
const cliVersion = '1.5.1'
/** First server with the fairness keys that delivery uses. */
const oldestServer = { major: 1, minor: 29 }
const versionTimeoutMs = 30_000
const lockPollMs = 1_000
const executableSuffix = process.platform === 'win32' ? '.exe' : ''

/**
 * Path of a usable CLI: the one on PATH, else the cached one, else downloaded, else built with Go. The last two may take
 * minutes and end in the cache; of several processes at once, one does the work and the others wait for it.
 * @throws StartError that names the four ways when all of them fail
 * @throws the signal's reason when it is aborted
 */
export async function findTemporalCli({
  env,
  cacheDir = envPaths('postrider', { suffix: '' }).cache,
  signal = new AbortController().signal,
  onProgress,
}: FindCliOptions): Promise<string> {
  const onPath = await searchPath(env, onProgress)
  if (onPath.path !== undefined) return onPath.path

  const cached = join(cacheDir, `temporal-v${cliVersion}${executableSuffix}`)
  if ((await checkCli(cached, env)) === 'usable') return cached

  const release = await lockCache(cacheDir, signal, onProgress)
  try {
    // Another process may have got it while this one waited.
    if ((await checkCli(cached, env)) === 'usable') return cached
    const failures = await obtainCli(cached, cacheDir, { env, signal, onProgress })
    if (failures === undefined) return cached
    throw new StartError(
      `No Temporal server (on PATH, ${onPath.reason}; in the cache ${cached}, none; download, ${failures.download}; ` +
        `go install, ${failures.build}): install the Temporal CLI (https://docs.temporal.io/cli) or Go, ` +
        'or set TEMPORAL_ADDRESS to an existing Temporal',
    )
  } finally {
    await release()
  }
}

async function searchPath(env: NodeJS.ProcessEnv, onProgress: (line: string) => void) {
  let reason = 'none'
  for (const folder of (env.PATH ?? '').split(delimiter).filter(isAbsolute)) {
    const path = join(folder, `temporal${executableSuffix}`)
    const state = await checkCli(path, env)
    if (state === 'usable') return { path }
    if (state === 'missing') continue
    reason = `${path} is ${state}`
    onProgress(`Passing over ${path}: ${state}`)
  }
  return { path: undefined, reason }
}

/** 'usable', 'missing', or in words what is wrong with this CLI. */
async function checkCli(path: string, env: NodeJS.ProcessEnv): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(path, ['--version'], { env, timeout: versionTimeoutMs })
    const [text, major, minor] = /Server (\d+)\.(\d+)[.\w-]*/.exec(stdout) ?? []
    if (text === undefined) return 'not a Temporal CLI'
    const isRecent =
      Number(major) > oldestServer.major ||
      (Number(major) === oldestServer.major && Number(minor) >= oldestServer.minor)
    return isRecent ? 'usable' : `too old (${text}; ${oldestServer.major}.${oldestServer.minor} or newer is needed)`
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'missing' : 'not working'
  }
}

/** Writes into the cache.
 *  @throws StartError when it cannot be written, as on a full or a read-only disk */
async function intoCache<T>(cacheDir: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException
    throw new StartError(
      `The cache folder ${cacheDir} cannot be written (${code}), where the Temporal server is kept: make room there, ` +
        'or install the Temporal CLI (https://docs.temporal.io/cli)',
      { cause: error },
    )
  }
}

/** Waits for the sole right to fill the cache. */
async function lockCache(cacheDir: string, signal: AbortSignal, onProgress: (line: string) => void) {
  await intoCache(cacheDir, () => mkdir(cacheDir, { recursive: true }))
  let told = false
  for (;;) {
    const lock = await intoCache(cacheDir, () => acquireProcessLock(cacheDir, 'temporal'))
    if (lock.kind === 'acquired') return lock.release
    if (!told) onProgress(`Waiting for process ${lock.pid}, which is getting the Temporal server`)
    told = true
    await sleep(lockPollMs, undefined, { signal })
  }
}

/** Fills `cached`, whole or not at all. @returns undefined, or why each way failed */
async function obtainCli(cached: string, cacheDir: string, options: ObtainOptions) {
  const folder = join(cacheDir, 'incoming')
  const emptyFolder = () =>
    intoCache(cacheDir, async () => {
      // Whatever is in it was left by a process that died: only the owner of the lock works here.
      await rm(folder, { recursive: true, force: true })
      await mkdir(folder, { recursive: true })
    })
  const keep = async (result: Obtained): Promise<string | undefined> => {
    if ('failure' in result) return result.failure
    await chmod(result.path, 0o755)
    const state = await checkCli(result.path, options.env)
    if (state !== 'usable') return `the result is ${state}`
    await rename(result.path, cached)
    return undefined
  }
  try {
    await emptyFolder()
    options.onProgress(`Downloading the Temporal server (CLI ${cliVersion}) to ${cached}`)
    const download = await keep(await downloadCli(cliVersion, folder, options))
    if (download === undefined) return undefined
    await emptyFolder()
    options.onProgress(`The download failed (${download}); building the Temporal server with Go instead`)
    const build = await keep(await buildCli(cliVersion, folder, options))
    return build === undefined ? undefined : { download, build }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
