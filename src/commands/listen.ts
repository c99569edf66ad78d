/** `postrider listen`: a receiver on this machine, registered as an endpoint of a source while it runs. */

import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { answerOf } from '@postrider/api'
import { Command, Option } from 'commander'
import type { Destination, DestinationView } from '../schemas/destination.ts'
import { isReceiver, startReceiver, type ReceivedEvent } from '../receiver/receiver.ts'
import { isFetching } from '../schemas/listen-request.ts'
import type { Source } from '../schemas/source.ts'
import { listenByFetching } from './listen-by-fetching.ts'
import type { Api } from './shared/api.ts'
import { isLoopback } from './shared/addresses.ts'
import { CommandError } from './shared/failure.ts'
import { forward } from './shared/forward.ts'
import { findSource, listDestinations } from './shared/lookup.ts'
import { collectHeaders, httpUrl, wholeNumber } from './shared/options.ts'
import { printable, printableJson, type Output } from './shared/output.ts'
import { receivedLine } from './shared/received-text.ts'
import { openSession } from './shared/session.ts'
import { stopSignal } from './shared/stop-signal.ts'

interface ListenOptions {
  name: string
  host: string
  port: number
  publicUrl?: string
  forwardTo?: string
  header?: Record<string, string>
  fetch?: true
  body?: true
  once?: true
  remove?: true
}

export const listenCommand = (): Command =>
  new Command('listen')
    .description('receive the events of a source here, show them, and forward them to a local URL')
    .argument('<source>', 'id or name of the source')
    .option('--forward-to <url>', 'URL to forward each request to; its response is returned to the node', httpUrl)
    .option('--header <name: value>', 'header to add when forwarding (repeat for several)', collectHeaders)
    .option('--name <name>', 'name of the destination', `listen on ${hostname()}`)
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .addOption(
      new Option('--port <port>', 'port to listen on, 1 to 65535')
        .argParser(wholeNumber(0, 65_535))
        .default(0, 'a free one'),
    )
    .option('--public-url <url>', 'URL at which the node reaches this receiver, if it is another one', httpUrl)
    .option('--fetch', 'fetch the events from the node, which needs no way to this machine')
    .option('--body', 'show the whole body of each event')
    .option('--once', 'end after the first event')
    .option('--remove', 'delete the destination at the end; what has not been sent by then is not sent any more')
    .addHelpText(
      'after',
      [
        '',
        'listen creates a destination for the receiver, and uses the same one the next time; beside another listen that is',
        'running it has one of its own, so that both get all events. When listen stops, it pauses its destination: events',
        'that come in meanwhile are held, and are sent when listen runs again. With --remove nothing is kept.',
        'From a node on another machine the events are fetched, unless --host or --public-url is given.',
      ].join('\n'),
    )
    .action(async (source: string, options: ListenOptions, command: Command) => listen(source, options, command))

async function listen(wanted: string, options: ListenOptions, command: Command): Promise<void> {
  const { api, out } = await openSession(command)
  const source = await findSource(api, wanted)
  const stop = stopSignal()
  const first = new AbortController()
  const end = options.once === true ? AbortSignal.any([stop, first.signal]) : stop
  const isFetched = options.fetch === true || !reaches(api.address, options)
  const show = (event: ReceivedEvent): void => {
    out.item(event, (one) => {
      const line = receivedLine(one, isFetched)
      return options.body === true ? `${line}\n${printableJson(one.body)}` : line
    })
    if (event.genuine) first.abort()
  }
  if (isFetched) {
    await listenByFetching({
      ...{ api, source, name: options.name, forwardTo: options.forwardTo, header: options.header, end },
      openUntil: async (over) => (await openSession(command, over)).api,
      onReady: ({ id }) =>
        out.item(
          { listening: null, destinationId: id, sourceId: source.id },
          () => `Receiving events of ${printable(source.name)} from ${api.address}. Stop with Ctrl-C.`,
        ),
      onEvent: show,
      leave: (destination, url) => leave(api, destination, url, options.remove === true, out),
      note: (line) => out.note(line),
    })
    return
  }
  // A new one each time: what was held is signed when it is sent, so nothing has to be kept here.
  const secret = randomBytes(24).toString('base64url')
  const { host, port, forwardTo, header } = options
  const receiver = await startReceiver({
    host,
    port,
    secrets: () => [secret],
    ...(forwardTo !== undefined && { forward: (request, body) => forward(forwardTo, request, body, header) }),
    onEvent: show,
  }).catch((error: Error) => {
    throw new CommandError('failed', `cannot listen on ${host}:${port}: ${error.message}`)
  })
  const url = options.publicUrl ?? receiver.url
  try {
    const destination = await register(api, source, options.name, url, secret, out)
    const ready = { listening: receiver.url, destinationId: destination.id, sourceId: source.id }
    out.item(ready, () => `Receiving events of ${printable(source.name)} at ${receiver.url}. Stop with Ctrl-C.`)
    if (!end.aborted) await new Promise((resolve) => end.addEventListener('abort', resolve, { once: true }))
    await leave(api, destination, url, options.remove === true, out)
  } finally {
    await receiver.stop()
  }
}

/** Whether the node reaches a receiver on this machine, as far as is known. */
const reaches = (address: string, { host, publicUrl }: ListenOptions): boolean =>
  isLoopback(address) || publicUrl !== undefined || host !== '127.0.0.1'

/** Lets the destination lead to the receiver, and what was held come. */
async function register(
  api: Api,
  source: Source,
  name: string,
  url: string,
  sharedSecret: string,
  out: Output,
): Promise<Destination> {
  const { existing, freeName } = await findPlace(api, source, name)
  if (existing === undefined)
    return answerOf(
      api.POST('/destinations', {
        body: {
          name: freeName,
          type: 'webhooks',
          sourceIds: [source.id],
          settings: { sharedSecret, webhooks: [{ url }] },
        },
      }),
    )
  if (!existing.paused)
    out.note(
      `${printable(existing.name)} was not paused: the last listen was killed, or one runs elsewhere. Events come here from now on.`,
    )
  const [webhook] = existing.settings.webhooks
  return answerOf(
    api.PATCH('/destinations/{id}', {
      params: { path: { id: existing.id } },
      body: {
        enabled: true,
        paused: false,
        settings: { sharedSecret, secretOverlapSeconds: 0, webhooks: [{ id: webhook?.id, url }] },
      },
    }),
  )
}

/** The destination of an earlier listen, or the name for one: no other listen that runs now has it. */
async function findPlace(
  api: Api,
  source: Source,
  name: string,
): Promise<{ existing?: DestinationView; freeName: string }> {
  const destinations = await listDestinations(api)
  for (let number = 1; ; number++) {
    const freeName = number === 1 ? name : `${name} (${number})`
    const named = destinations.filter((one) => one.name === freeName)
    if (named.length === 0) return { freeName }
    const existing = named.find(({ sourceIds }) => sourceIds.length === 1 && sourceIds[0] === source.id)
    if (existing !== undefined && (existing.paused || !(await isListening(existing)))) return { existing, freeName }
  }
}

/** Whether another listen may have the destination: of one that fetches its events only the node knows. */
async function isListening({ settings }: DestinationView): Promise<boolean> {
  const [webhook] = settings.webhooks
  return webhook !== undefined && (isFetching(new URL(webhook.url).hostname) || isReceiver(webhook.url))
}

/** Pauses the destination or removes it, unless another listen has it by now. */
async function leave(api: Api, { id, name }: Destination, url: string, isRemoved: boolean, out: Output): Promise<void> {
  const params = { path: { id } }
  try {
    const { settings } = await answerOf(api.GET('/destinations/{id}', { params }))
    if (settings.webhooks[0]?.url !== url) {
      out.note(`${printable(name)} leads to another listen by now: it stays as it is.`)
      return
    }
    if (isRemoved) {
      await answerOf(api.DELETE('/destinations/{id}', { params }))
      out.note(`${printable(name)} is deleted.`)
      return
    }
    await answerOf(api.PATCH('/destinations/{id}', { params, body: { paused: true } }))
    out.note(
      `Paused: events that come in now are held at ${printable(name)} until listen runs again. To end that: postrider destinations delete ${id}`,
    )
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    if (error.exit === 'notFound') return
    const then = `as long as the node retries; to end that: postrider destinations pause ${id}`
    throw new CommandError(
      error.exit,
      `${printable(name)} is not paused, and its events are retried ${then}. ${error.message}`,
      {
        cause: error,
        code: error.code,
      },
    )
  }
}
