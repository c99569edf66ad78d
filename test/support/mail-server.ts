/** A real mail server that keeps what it gets. */

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

/** Takes mail from everybody, without TLS. */
const open: SMTPServerOptions = { authOptional: true, disabledCommands: ['STARTTLS'] }

export interface MailServer extends AsyncDisposable {
  /** What it got, as it came. */
  mails: string[]
  /** As in `127.0.0.1:2525`. */
  host: string
  url: string
}

/** @param options  in place of those by which it takes mail from everybody */
export async function startMailServer(options: SMTPServerOptions = open): Promise<MailServer> {
  const mails: string[] = []
  const server = new SMTPServer({
    ...options,
    onData: (stream, _session, done) =>
      void text(stream).then((mail) => {
        mails.push(mail)
        done()
      }, done),
  })
  // A client that does not trust it ends the handshake.
  server.on('error', () => undefined)
  const listening = server.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  const host = `127.0.0.1:${(listening.address() as AddressInfo).port}`
  return {
    mails,
    host,
    url: `smtp://${host}`,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}
