/** One alert as an e-mail. The server's addresses are held against the same rules as those of endpoints. */

import { connect, type Socket, type TcpNetConnectOpts } from 'node:net'
import { createTransport } from 'nodemailer'
import type { AddressGuard } from '../delivery/guard-address.ts'
import { guardedLookup } from '../delivery/connect.ts'
import type { AlertChannelSettings } from '../schemas/alert.ts'
import { messageIdOf, subjectOf, textOf, type ToldAlert } from './message.ts'

/** How long connecting, and each answer of the server, may take, in milliseconds. */
const limitMs = 10_000

/** @throws Error when the server does not take it, or may not be reached */
export async function sendEmail(
  guard: AddressGuard,
  settings: Extract<AlertChannelSettings, { kind: 'email' }>,
  told: ToldAlert,
): Promise<void> {
  const { protocol, hostname, port, username, password } = new URL(settings.smtpUrl)
  const refusal = guard.refuseUrl(`http://${hostname}`)
  if (refusal !== undefined) throw new Error(refusal.reason)
  const secure = protocol === 'smtps:'
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const transport = createTransport({
    host,
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    // A password goes out encrypted or not at all.
    requireTLS: username !== '',
    ...(username !== '' && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    tls: { minVersion: 'TLSv1.2' },
    connectionTimeout: limitMs,
    greetingTimeout: limitMs,
    socketTimeout: limitMs,
    getSocket(options, callback) {
      const to = { host, port: Number(options.port), lookup: guardedLookup(guard), timeout: limitMs }
      connected(to).then(
        (connection) => callback(null, { connection }),
        (error: Error) => callback(error, {}),
      )
    },
  })
  try {
    await transport.sendMail({
      from: settings.from,
      to: settings.to,
      subject: subjectOf(told),
      text: textOf(told),
      messageId: `<${messageIdOf(told)}@postrider>`,
    })
  } finally {
    transport.close()
  }
}

const connected = (to: TcpNetConnectOpts): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(to)
    const fail = (error: Error): void => {
      socket.destroy()
      reject(error)
    }
    socket.once('error', fail)
    socket.once('timeout', () => fail(new Error(`no connection within ${limitMs} ms`)))
    socket.once('connect', () => {
      socket.removeAllListeners()
      socket.setTimeout(0)
      resolve(socket)
    })
  })
