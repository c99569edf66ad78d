/** What happens to queued messages when a Node program ends. */

import type { Client } from './client.ts'

type EndingClient = Pick<Client, 'close' | 'flush' | 'stats'>

/** How long an ending program waits for the server, in milliseconds. */
const EXIT_MS = 10_000
const signals = ['SIGINT', 'SIGTERM'] as const

/**
 * Watches the end of the process. A program that has nothing left to do is kept for up to 10 s to deliver what waits;
 * `process.exit` cannot be held up, so there what waits is abandoned (spooled, or reported).
 * @returns removes the hooks
 */
export function addExitHooks(client: EndingClient, abandon: () => void, flushOnSignals: boolean): () => void {
  const onBeforeExit = () => void drain(client)
  const onSignal = (signal: NodeJS.Signals) => {
    // The hooks go when it is closed. An application with a handler of its own decides itself when to end; otherwise
    // the last client that is done repeats the signal, which now has its usual effect.
    void client.close({ timeoutMs: EXIT_MS }).then(() => {
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
    })
  }
  process.on('beforeExit', onBeforeExit).on('exit', abandon)
  if (flushOnSignals) signals.forEach((signal) => process.on(signal, onSignal))
  return () => {
    process.off('beforeExit', onBeforeExit).off('exit', abandon)
    signals.forEach((signal) => process.off(signal, onSignal))
  }
}

async function drain(client: EndingClient): Promise<void> {
  if (client.stats.pending === 0) return
  let timer: NodeJS.Timeout | undefined
  await Promise.race([client.flush(), new Promise((resolve) => (timer = setTimeout(resolve, EXIT_MS)))])
  clearTimeout(timer)
  if (client.stats.pending > 0) await client.close({ timeoutMs: 0 })
}
