/** Aborted by the first Ctrl-C or SIGTERM, or when what reads the output has ended; a second signal ends the process at
 *  once. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController()
  process.stdout.once('error', () => controller.abort())
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => controller.abort())
  return controller.signal
}
