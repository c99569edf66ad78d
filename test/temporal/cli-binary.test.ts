import { chmod, mkdir, mkdtemp, readFile, readdir, rm, rmdir, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { StartError } from '../../src/errors.ts'
import { processIdentity } from '../../src/process-identity.ts'
import { acquireProcessLock } from '../../src/process-lock.ts'
import { findTemporalCli } from '../../src/temporal/cli-binary.ts'

const cached = 'temporal-v1.5.1'
let folder: string
let cacheDir: string
let bin: string
let progress: string[]
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'postrider-cli-'))
  cacheDir = join(folder, 'cache')
  bin = join(folder, 'bin')
  await mkdir(cacheDir)
  await mkdir(bin)
  progress = []
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

async function writeTool(path: string, script: string): Promise<void> {
  await writeFile(path, `#!/bin/sh\n${script}\n`)
  await chmod(path, 0o755)
}

/** A PATH with our tools before the system's, and no route for a download: the proxy's port is closed. */
const env = (): NodeJS.ProcessEnv => ({
  ...process.env,
  PATH: `${bin}:/usr/bin:/bin`,
  HTTPS_PROXY: 'http://127.0.0.1:9',
  NO_PROXY: '',
})
const find = (signal?: AbortSignal) =>
  findTemporalCli({
    env: env(),
    cacheDir,
    ...(signal && { signal }),
    onProgress: (line) => void progress.push(line),
  })

describe('findTemporalCli', { timeout: 120_000 }, () => {
  it('prefers the command on PATH', async () => {
    await writeTool(join(bin, 'temporal'), 'echo "temporal version 1.9.0 (Server 1.31.2, UI 2.50.0)"')
    await symlink(inject('temporalCli'), join(cacheDir, cached))
    expect(await find()).toBe(join(bin, 'temporal'))
  })

  it.each([
    ['too old', 'echo "temporal version 1.3.0 (Server 1.27.1, UI 2.36.0)"', 'too old (Server 1.27.1'],
    ['something else', 'echo hello', 'not a Temporal CLI'],
    ['broken', 'exit 1', 'not working'],
  ])('takes the cached one when the one on PATH is %s, and says so', async (_, script, note) => {
    await writeTool(join(bin, 'temporal'), script)
    await symlink(inject('temporalCli'), join(cacheDir, cached))
    expect(await find()).toBe(join(cacheDir, cached))
    expect(progress).toHaveLength(1)
    expect(progress[0]).toContain(`Passing over ${join(bin, 'temporal')}: ${note}`)
  })

  it('builds with Go when nothing else is there, into the cache and nowhere else', async () => {
    // The build itself takes minutes; here a short stand-in for `go` shows what is asked of it.
    await writeTool(
      join(bin, 'go'),
      `echo "$@" > ${folder}/asked\necho "go: downloading a v1" >&2\ncp ${bin}/answer "$GOBIN/temporal"`,
    )
    await writeTool(join(bin, 'answer'), 'echo "temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)"')
    expect(await find()).toBe(join(cacheDir, cached))
    expect(await readdir(cacheDir)).toEqual([cached])
    expect(await find()).toBe(join(cacheDir, cached))
    expect(progress.filter((line) => line.startsWith('The download failed'))).toHaveLength(1)
  })

  it('names the four ways when all of them fail', async () => {
    await writeTool(join(bin, 'go'), 'echo "go: no route to the module proxy" >&2; exit 1')
    const refusal = find()
    await expect(refusal).rejects.toBeInstanceOf(StartError)
    await expect(refusal).rejects.toThrow(
      /^No Temporal server \(on PATH, none; in the cache .*, none; download, .+; go install, go: no route .*TEMPORAL_ADDRESS.*$/,
    )
    expect(await readdir(cacheDir)).toEqual([])
  })

  it('says in whole words that there is no Go', async () => {
    const refusal = findTemporalCli({ env: { ...env(), PATH: bin }, cacheDir, onProgress: () => {} })
    await expect(refusal).rejects.toThrow(
      /none; download, [^:;]+; go install, there is no go on PATH\): install the Temporal CLI .*, or set TEMPORAL_ADDRESS/,
    )
  })

  it('says in one line that the cache cannot be written', async () => {
    await rmdir(cacheDir)
    await writeFile(cacheDir, '')
    await expect(find()).rejects.toBeInstanceOf(StartError)
    await expect(find()).rejects.toThrow(`The cache folder ${cacheDir} cannot be written (EEXIST)`)
  })

  it('does not keep what a build delivers when it does not work', async () => {
    await writeTool(join(bin, 'go'), 'printf "#!/bin/sh\\nexit 1\\n" > "$GOBIN/temporal"')
    await expect(find()).rejects.toThrow('go install, the result is not working')
    expect(await readdir(cacheDir)).toEqual([])
  })

  it('ends the build when it is interrupted, and leaves nothing of it', async () => {
    await writeTool(
      join(bin, 'go'),
      `trap 'exit 1' INT\necho $$ > ${folder}/pid.new\nmv ${folder}/pid.new ${folder}/pid\nwhile :; do sleep 0.1; done`,
    )
    const interrupted = new AbortController()
    const refusal = expect(find(interrupted.signal)).rejects.toThrow('enough')
    while (!(await readdir(folder)).includes('pid')) await sleep(50)
    const pid = Number(await readFile(join(folder, 'pid'), 'utf8'))
    expect(processIdentity(pid)).toBeDefined()
    interrupted.abort(new Error('enough'))
    await refusal
    expect(processIdentity(pid)).toBeUndefined()
    expect(await readdir(cacheDir)).toEqual([])
  })

  it('waits for another process that fills the cache, and takes what that one got', async () => {
    const lock = await acquireProcessLock(cacheDir, 'temporal')
    if (lock.kind !== 'acquired') throw new Error('the lock is not free')
    const found = find()
    while (!progress.some((line) => line.startsWith('Waiting for process'))) await sleep(50)
    await symlink(inject('temporalCli'), join(cacheDir, cached))
    await lock.release()
    expect(await found).toBe(join(cacheDir, cached))
    expect(dirname(await found)).toBe(cacheDir)
  })
})
