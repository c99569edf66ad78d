/** A whole installation in one process tree, as `npm start` makes it. */

import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { isRunning, processRef } from '../../src/process-identity.ts'
import type { Destination } from '../../src/schemas/destination.ts'
import { endOrphan } from '../../src/temporal/embedded-server.ts'
import { readNote } from '../../src/temporal/server-process.ts'
import { adminToken, apiOf } from '../support/app.ts'
import { startProgram } from '../support/program.ts'
import { startReceiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

/** Another worker takes over a workflow task 10 s after the death of the one that had it. */
const takeOverLimitMs = 60_000

describe('an installation with everything embedded', () => {
  it(
    'finds everything again after hard kills, and leaves nothing behind when stopped',
    { timeout: 300_000 },
    async () => {
      const dataDir = await mkdtemp(join(tmpdir(), 'postrider-test-'))
      onTestFinished(async () => {
        await endOrphan(dataDir)
        await rm(dataDir, { recursive: true, force: true })
      })
      const temporaryFolder = join(dataDir, 'tmp')
      await mkdir(temporaryFolder)
      const settings = {
        PORT: '0',
        TMPDIR: temporaryFolder,
        POSTRIDER_DATA_DIR: dataDir,
        POSTRIDER_ADMIN_TOKEN: adminToken,
        POSTRIDER_TEMPORAL_PORT: '0',
        POSTRIDER_TEMPORAL_UI_PORT: '0',
        POSTRIDER_RETRY_INITIAL: '1s',
        POSTRIDER_RETRY_MAX: '1s',
      }
      const serverProcess = async () => {
        const pid = (await readNote(dataDir))?.pid
        const ref = pid === undefined ? undefined : processRef(pid)
        if (ref === undefined) throw new Error('no Temporal server runs')
        return ref
      }
      await using receiver = await startReceiver()
      receiver.answer({ status: 503 })
      await using first = startProgram(settings)
      const api = apiOf(await first.url())
      const source = await api.createSource('Mine')
      const { id } = await api.connect([source], [receiver.url])
      await api.post('/track', source.writeKey, { messageId: 'survivor', userId: 'u1', event: 'E' })
      await receiver.received(2)
      const server = await serverProcess()
      first.signal('SIGKILL', 'group')
      await first.exited
      // In a group of its own, it outlives the node.
      expect(isRunning(server)).toBe(true)

      const startedAt = performance.now()
      await using second = startProgram(settings)
      const url = await second.url()
      const readyMs = performance.now() - startedAt
      console.log(`second start until ready: ${Math.round(readyMs)} ms`)
      expect((await fetch(`${url}/readyz`)).status).toBe(200)
      // 10 s on an idle machine.
      expect(readyMs).toBeLessThan(60_000)
      const found = await apiOf(url).api<Destination>('GET', `/destinations/${id}`)
      expect(found.body.settings.webhooks[0]?.url).toBe(receiver.url)
      const before = receiver.requests.length
      await receiver.received(before + 1, takeOverLimitMs)
      second.signal('SIGKILL', 'group')
      process.kill((await serverProcess()).pid, 'SIGKILL')
      await second.exited

      receiver.answer({})
      await using third = startProgram(settings)
      const again = apiOf(await third.url())
      const delivered = async () =>
        (await again.api<{ items: { status: string; messageId: string }[] }>('GET', '/deliveries?status=delivered'))
          .body.items
      const items = await until(
        'the event is delivered',
        async () => ((await delivered()).length > 0 ? delivered() : undefined),
        takeOverLimitMs,
      )
      expect(items).toMatchObject([{ messageId: 'survivor', status: 'delivered' }])
      const lastServer = await serverProcess()
      third.signal('SIGINT', 'group')
      expect(await third.exited).toBe(0)
      expect(isRunning(lastServer)).toBe(false)
      expect(await readNote(dataDir)).toBeUndefined()
      expect(await readdir(temporaryFolder)).toEqual([])
    },
  )
})
