import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, Connection } from '@temporalio/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { apiOf, makeDataFolder, testEnvironment } from '../support/app.ts'
import { startProgram } from '../support/program.ts'
import { startReceiver } from '../support/receiver.ts'
import { testConverter } from '../support/sealed-payloads.ts'
import { createNamespace, temporalAddress } from '../support/temporal.ts'
import { until } from '../support/wait.ts'
import { onlyDeliveryOf, untilOutcome } from './deliveries.ts'

const timeout = 180_000

/** Another worker takes over a workflow task 10 s after the death of the one that had it. */
const takeOverLimitMs = 60_000

describe('a node on a Temporal of its own', () => {
  let namespace: string
  let dataDir: string
  let connection: Connection
  let client: Client
  beforeAll(async () => {
    namespace = await createNamespace()
    dataDir = await makeDataFolder()
    connection = await Connection.connect({ address: temporalAddress() })
    client = new Client({ connection, namespace, dataConverter: testConverter })
  })
  afterAll(async () => {
    await connection.close()
    await rm(dataDir, { recursive: true })
  })

  const environment = (more: Record<string, string> = {}) => ({ ...testEnvironment(namespace, dataDir), ...more })
  const delivery = (source: { id: string }) => onlyDeliveryOf(client, source)

  it('delivers what it had begun when it was killed, with the settings that it had', { timeout }, async () => {
    await using inFlight = await startReceiver()
    await using failing = await startReceiver()
    inFlight.answer('hang')
    failing.answer({ status: 503 })
    const before = startProgram(environment({ POSTRIDER_RETRY_INITIAL: '1s' }))
    await using killed = before
    const api = apiOf(await killed.url())
    const [one, other] = [await api.createSource('In flight'), await api.createSource('Failing')]
    await api.connect([one], [inFlight.url], { sharedSecret: 'kept', headers: { 'X-Kept': 'yes' } })
    await api.connect([other], [failing.url])
    await api.post('/track', other.writeKey, { messageId: 'failed-once', userId: 'u1', event: 'E' })
    await untilOutcome(await delivery(other), 'retrying')
    await api.post('/track', one.writeKey, { messageId: 'in-flight', userId: 'u1', event: 'E' })
    await inFlight.received(1)
    killed.signal('SIGKILL')
    expect(await killed.exited).toBe('SIGKILL')

    const failed = failing.requests.length
    inFlight.answer({})
    failing.answer({})
    await using restarted = startProgram(environment({ POSTRIDER_RETRY_INITIAL: '1s' }))
    const after = apiOf(await restarted.url())
    expect(await (await delivery(one)).result()).toMatchObject({ outcome: 'delivered' })
    expect(await (await delivery(other)).result()).toMatchObject({
      outcome: 'delivered',
      destinations: [{ endpoints: [{ attempts: failed + 1 }] }],
    })
    const [first, again] = await inFlight.received(2, takeOverLimitMs)
    expect(again?.body).toEqual(first?.body)
    expect(again?.headers['x-signature']).toBe(first?.headers['x-signature'])
    expect(again?.headers['x-kept']).toBe('yes')
    const { body } = await after.api<{ items: { name: string }[] }>('GET', '/sources')
    expect(body.items.map(({ name }) => name)).toEqual(['In flight', 'Failing'])
    restarted.signal('SIGTERM')
    expect(await restarted.exited).toBe(0)
  })

  it.for(['process', 'group'] as const)(
    'lets an attempt that runs finish when its %s is told to stop, and takes no more events',
    { timeout },
    async (whom) => {
      await using receiver = await startReceiver()
      receiver.answer({ delayMs: 2_000 })
      await using node = startProgram(environment())
      const api = apiOf(await node.url())
      const source = await api.createSource()
      await api.connect([source], [receiver.url])
      await api.post('/track', source.writeKey, { messageId: 'drained', userId: 'u1', event: 'E' })
      await receiver.received(1)
      node.signal(whom === 'group' ? 'SIGINT' : 'SIGTERM', whom)
      expect(await node.exited).toBe(0)
      // Nobody is left who could finish it: it was finished before the end.
      expect((await (await delivery(source)).describe()).status.name).toBe('COMPLETED')
      expect(receiver.requests).toHaveLength(1)
      await expect(fetch(`${api.url}/healthz`)).rejects.toThrow()
      expect(() => process.kill(-node.pid, 0)).toThrow('ESRCH')
    },
  )

  it('stops at once when it is told to while Temporal or the database does not answer', { timeout }, async () => {
    let attempts = 0
    const silent = createServer(() => attempts++).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    for (const [away, isWaiting] of [
      [{ TEMPORAL_ADDRESS: `127.0.0.1:${port}` }, () => attempts > 0],
      [{ TEMPORAL_ADDRESS: '127.0.0.1:1' }, (log: string) => log.includes('part.away')],
      [{ DATABASE_URL: 'postgres://u:secret@127.0.0.1:1/x' }, (log: string) => log.includes('part.away')],
    ] as const) {
      await using node = startProgram(environment({ ...away, LOG_LEVEL: 'warn' }))
      await until('it waits', () => isWaiting(node.stdout() + node.stderr()))
      node.signal('SIGINT', 'group')
      const ended = node.exited.then((code) => ({ code }))
      // Left alone, it would wait for ever.
      const stopLimit = sleep(15_000, { code: 'still running' }, { ref: false })
      expect(await Promise.race([ended, stopLimit])).toEqual({ code: 130 })
    }
    silent.close()
  })

  describe('does not start, says why in one line and exits with 1,', () => {
    const refusal = async (settings: Record<string, string>): Promise<string> => {
      await using node = startProgram(settings)
      expect(await node.exited).toBe(1)
      const lines = node
        .stderr()
        .split('\n')
        .filter((line) => line.startsWith('postrider: '))
      expect(lines, node.stderr()).toHaveLength(1)
      expect(node.stderr()).not.toContain('    at ')
      return lines[0] ?? ''
    }

    it('when its port is in use', { timeout }, async () => {
      const server = createServer().listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      expect(await refusal(environment({ PORT: String(port) }))).toBe(
        `postrider: Port ${port} on 127.0.0.1 is in use; stop what uses it or set PORT`,
      )
      server.close()
    })

    it('when its data folder is in use, or the keys are not those of its database', { timeout }, async () => {
      await using node = startProgram(environment())
      await apiOf(await node.url()).connect([], ['https://example.com/'], { sharedSecret: 'sealed' })
      expect(await refusal(environment())).toBe(
        `postrider: The data folder ${dataDir} is in use by another Postrider (process ${node.pid}); stop it or set POSTRIDER_DATA_DIR`,
      )
      node.signal('SIGTERM')
      await node.exited
      const keys = (id: string) => ({ POSTRIDER_ENCRYPTION_KEYS: `${id}:${Buffer.alloc(32, 9).toString('base64')}` })
      expect(await refusal(environment(keys('k9')))).toMatch(/^postrider: .*"k1" is not in POSTRIDER_ENCRYPTION_KEYS$/)
      expect(await refusal(environment(keys('k1')))).toMatch(/^postrider: the encryption key "k1" is not the one /)
    })

    it.for<[string, Record<string, string>, RegExp]>([
      ['a setting is wrong', { PORT: '80800' }, /^postrider: PORT must be a whole number from 0 to 65535$/],
      [
        'a duration is wrong',
        { POSTRIDER_RETRY_WINDOW: '4 hours and a bit' },
        /^postrider: POSTRIDER_RETRY_WINDOW must be /,
      ],
      [
        'the data folder cannot be made',
        { POSTRIDER_DATA_DIR: '/dev/null/x' },
        /^postrider: The data folder .* cannot be used/,
      ],
      ['its proxy is none', { HTTPS_PROXY: 'socks5://u:secret@proxy' }, /^postrider: HTTPS_PROXY must be the address/],
      [
        'its roles have nothing in common to meet in',
        { POSTRIDER_ROLES: 'worker' },
        /^postrider: POSTRIDER_ROLES must be api,worker with the embedded database: set DATABASE_URL/,
      ],
    ])('when %s', { timeout }, async ([, settings, line]) => {
      const said = await refusal(environment(settings))
      expect(said).toMatch(line)
      expect(said).not.toContain('secret')
    })
  })
})
