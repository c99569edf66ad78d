import { once } from 'node:events'
import http from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { proxySettings } from '../../src/delivery/proxy.ts'
import { createSender } from '../../src/delivery/send.ts'
import type { SenderOptions } from '../../src/delivery/send.ts'
import { StartError } from '../../src/errors.ts'
import { createCertificates } from '../support/certificates.ts'
import { startReceiver } from '../support/receiver.ts'
import type { Receiver } from '../support/receiver.ts'
import { until } from '../support/wait.ts'

const request = { headers: { 'Content-Type': 'application/json' }, body: '{}' }

describe('an outbound proxy', () => {
  let receiver: Receiver
  let secure: Receiver
  let proxy: http.Server
  let proxyUrl: string
  /** Targets of the tunnels that were asked for. */
  const tunnels: string[] = []

  beforeAll(async () => {
    receiver = await startReceiver()
    secure = await startReceiver({ tls: (await createCertificates()).selfSigned })
    // A tunnelling proxy that knows two names.
    proxy = http.createServer().on('connect', (incoming, socket) => {
      tunnels.push(incoming.url ?? '')
      const target = { 'hooks.example:80': receiver.port, 'secure.example:443': secure.port }[incoming.url ?? '']
      if (target === undefined) {
        socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
        return
      }
      const upstream = connect(target, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
        socket.pipe(upstream).pipe(socket)
      })
      for (const end of [socket, upstream]) end.on('error', () => undefined)
    })
    proxy.listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  })
  afterAll(async () => {
    proxy.close()
    proxy.closeAllConnections()
    await receiver.close()
    await secure.close()
  })

  const sendOnce = async (url: string, options: Partial<SenderOptions> = {}) => {
    const sender = createSender({
      allowedNetworks: [],
      proxy: { httpProxy: proxyUrl, httpsProxy: proxyUrl },
      ...options,
    })
    const outcome = await sender.send({ url, ...request })
    await sender.close()
    return outcome
  }

  it('is understood without a scheme, as curl does', async () => {
    const { host } = new URL(proxyUrl)
    const proxy = proxySettings({ HTTP_PROXY: host, https_proxy: ` ${host} `, NO_PROXY: 'x' })
    expect(proxy).toEqual({ httpProxy: `http://${host}`, httpsProxy: `http://${host}`, noProxy: 'x' })
    expect(await sendOnce('http://hooks.example/in', { proxy })).toMatchObject({ kind: 'delivered' })
    expect(proxySettings({ HTTP_PROXY: '', http_proxy: host })).toMatchObject({ httpProxy: undefined })
  })

  it.each(['http://', 'two words', 'socks5://u:secret@127.0.0.1:1', 'host:port'])(
    'that is no address (%s) is a fault of the settings that names the variable',
    (value) => {
      const read = (): unknown => proxySettings({ HTTP_PROXY: value })
      expect(read).toThrow(StartError)
      expect(read).toThrow(/^HTTP_PROXY must be the address of a proxy/)
      expect(read).not.toThrow(/secret/)
    },
  )

  it('that cannot be opened fails each attempt, and keeps no connection from others nor the sender from its end', async () => {
    const sender = createSender({ allowedNetworks: [], proxy: { httpProxy: 'two words' }, maxSocketsPerOrigin: 2 })
    for (let n = 0; n < 6; n++)
      expect(await sender.send({ url: 'http://hooks.example/', ...request })).toMatchObject({ kind: 'unavailable' })
    await sender.close()
  })

  it('resolves names and carries the request', async () => {
    const outcome = await sendOnce('http://hooks.example/in')
    expect(outcome).toMatchObject({ kind: 'delivered' })
    expect(tunnels.at(-1)).toBe('hooks.example:80')
    expect(receiver.requests.at(-1)).toMatchObject({ path: '/in', body: Buffer.from(request.body) })
    expect(receiver.requests.at(-1)?.headers.host).toBe('hooks.example')
  })

  it('is not asked for addresses that deliveries may not go to', async () => {
    const before = tunnels.length
    for (const host of ['10.0.0.1', '169.254.169.254', '[::1]', 'localhost']) {
      expect(await sendOnce(`http://${host}/`)).toMatchObject({ kind: 'rejected', code: 'forbidden_address' })
    }
    expect(tunnels).toHaveLength(before)
  })

  it('does not stand between the endpoint’s certificate and its check', async () => {
    const outcome = await sendOnce('https://secure.example/')
    expect(outcome).toMatchObject({ kind: 'rejected', code: 'certificate' })
    expect(tunnels.at(-1)).toBe('secure.example:443')
    expect(secure.requests).toEqual([])
  })

  it('that refuses is a failure that may pass', async () => {
    expect(await sendOnce('http://unknown.example/')).toMatchObject({ kind: 'unavailable', code: 'proxy_failure' })
  })

  it('is passed by for NO_PROXY, where resolved addresses are checked', async () => {
    const proxySettings = { httpProxy: proxyUrl, noProxy: 'direct.example' }
    const before = tunnels.length
    const outcome = await sendOnce(`http://direct.example:${receiver.port}/`, {
      proxy: proxySettings,
      lookup: (_name, _options, answer) => answer(null, [{ address: '127.0.0.1', family: 4 }]),
    })
    expect(outcome).toMatchObject({ kind: 'rejected', code: 'forbidden_address' })
    expect(tunnels).toHaveLength(before)
  })

  it('that hangs is held to the time limit, and keeps no connection from those that come later', async () => {
    let hangs = true
    const slow = http.createServer().on('connect', (incoming, socket, head) => {
      if (!hangs) proxy.emit('connect', incoming, socket, head)
    })
    slow.listen(0, '127.0.0.1')
    await once(slow, 'listening')
    const httpProxy = `http://127.0.0.1:${(slow.address() as AddressInfo).port}`
    const sender = createSender({ allowedNetworks: [], proxy: { httpProxy }, timeoutMs: 400, maxSocketsPerOrigin: 1 })
    const send = () => sender.send({ url: 'http://hooks.example/', ...request })
    expect(await send()).toMatchObject({ kind: 'unavailable', code: 'timeout' })
    hangs = false
    await until('one gets through', async () => (await send()).kind === 'delivered')
    await sender.close()
    slow.close()
    slow.closeAllConnections()
  })
})
