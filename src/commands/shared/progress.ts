import type { Output } from './output.ts'

export interface Progress {
  /** @param value  how much of the total is done */
  update(value: number): void
  stop(): void
}

/** A bar on the terminal; nothing where none reads. */
export async function startProgress(out: Output, title: string, total: number): Promise<Progress> {
  if (out.isJson || !process.stderr.isTTY || total <= 0) return { update: () => {}, stop: () => {} }
  // Loaded only here: most commands draw none.
  const { default: progress } = await import('cli-progress')
  const bar = new progress.SingleBar(
    { format: `${title} {bar} {percentage}% | {eta_formatted}`, stream: process.stderr, hideCursor: true },
    progress.Presets.shades_classic,
  )
  bar.start(total, 0)
  return { update: (value) => bar.update(Math.min(value, total)), stop: () => bar.stop() }
}
