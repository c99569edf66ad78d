/** Receivers in a process of their own: what they take of the processor holds up neither the node nor the bench. */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hangingPath, type Conduct, type ReceiverAnswer, type ReceiverOrder, type Taken } from './receivers.ts'

interface Receiver {
  server: Server
  port: number
  conduct: Conduct
  taken: Map<string, Taken>
}

const receivers = new Map<string, Receiver>()

process.on('message', (order: ReceiverOrder) => {
  carryOut(order).then(
    (result) => process.send?.({ nr: order.nr, result } satisfies ReceiverAnswer),
    (error: unknown) => {
      console.error(error)
      process.exit(1)
    },
  )
})
process.once('disconnect', () => process.exit())

async function carryOut(order: ReceiverOrder): Promise<unknown> {
  const receiver = receivers.get(order.name) ?? open(order.name)
  switch (order.kind) {
    case 'become':
      await become(receiver, order.conduct)
      return receiver.port
    case 'count':
      return receiver.taken.size
    case 'read':
      return [...receiver.taken.values()]
  }
}

function open(name: string): Receiver {
  const server = createServer((request, response) => read(receiver, request, response))
  const receiver: Receiver = { server, port: 0, conduct: 'refuses', taken: new Map() }
  receivers.set(name, receiver)
  return receiver
}

async function become(receiver: Receiver, conduct: Conduct): Promise<void> {
  const { server } = receiver
  receiver.conduct = conduct
  // The port of one that refuses must be known, too.
  if (!server.listening) await listen(receiver)
  if (conduct !== 'refuses') return
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
}

/** On all addresses of this machine: each of 127.0.0.0/8 is a host of its own. */
async function listen(receiver: Receiver): Promise<void> {
  receiver.server.listen(receiver.port, '0.0.0.0')
  await once(receiver.server, 'listening')
  receiver.port = (receiver.server.address() as AddressInfo).port
}

function read({ conduct, taken }: Receiver, request: IncomingMessage, response: ServerResponse): void {
  let text = ''
  request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  request.on('end', () => {
    if (conduct === 'hangs' || request.url?.startsWith(hangingPath) === true) return
    const messageId = /"messageId":"([^"]*)"/.exec(text)?.[1] ?? ''
    const known = taken.get(messageId)
    if (known === undefined)
      taken.set(messageId, { messageId, at: performance.timeOrigin + performance.now(), times: 1 })
    else known.times++
    response.writeHead(200).end()
  })
}
