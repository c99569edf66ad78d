/** How quick syncs of audiences are, and what they cost: `npm run bench:audiences`. Prints a table and the same as JSON.
 *  Everything is on this machine: the node with its embedded Temporal and PGlite, the receiver, the bare loop.
 *  Sizes can be set for a quick look: `npm run bench:audiences -- --first 20000 --large 100000`; the large sync is
 *  stopped after `--seconds` of its sending, `--seconds 0` sees it to its end. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { measureBareLoop } from './audiences/bare-loop.ts'
import { measureDiff } from './audiences/diff.ts'
import { startBenchNode, type BenchNode } from './audiences/node.ts'
import { startReceiver } from './audiences/receiver.ts'
import { measureFirstSync } from './audiences/first-sync.ts'
import { measureLargeSync } from './audiences/large-sync.ts'
import { measureUpload } from './audiences/upload.ts'
import { quantile } from './support/figures.ts'

const { values } = parseArgs({
  options: {
    first: { type: 'string', default: '100000' },
    large: { type: 'string', default: '1000000' },
    changed: { type: 'string', default: '10000' },
    upload: { type: 'string', default: '5000000' },
    seconds: { type: 'string', default: '90' },
    only: { type: 'string', default: 'sync,large,upload,diff' },
  },
})
const sizes = {
  first: Number(values.first),
  large: Number(values.large),
  upload: Number(values.upload),
  changed: Number(values.changed),
}
const only = values.only.split(',')

interface Line {
  figure: string
  value: number
  unit: string
  /** What it should be, as in `at least 1500`. */
  wanted?: string
}

const lines: Line[] = []
const say = (figure: string, value: number, unit: string, wanted?: string): void => {
  lines.push({ figure, value: Math.round(value * 100) / 100, unit, ...(wanted !== undefined && { wanted }) })
  console.log(`${figure}: ${value.toFixed(2)} ${unit}${wanted === undefined ? '' : ` (${wanted})`}`)
}

/** Whole first syncs, each of an audience of its own, with the bare loop before and after. */
const firstSyncRounds = 3

const folder = await mkdtemp(join(tmpdir(), 'postrider-bench-'))

/** Making its database leaves hundreds of megabytes resident: what is measured is a node that finds one. */
const startCalmNode = async (name: string): Promise<BenchNode> => {
  await (await startBenchNode(join(folder, name))).stop()
  return startBenchNode(join(folder, name))
}

try {
  if (only.includes('sync') || only.includes('large')) {
    const receiver = await startReceiver()
    const node = await startCalmNode('node')
    try {
      if (only.includes('sync')) {
        const shares: number[] = []
        let bare = await measureBareLoop(receiver.url, sizes.first)
        say('bare undici loop', bare, 'calls/s')
        for (let round = 1; round <= firstSyncRounds; round++) {
          const first = await measureFirstSync(node, receiver.url, sizes.first)
          say(`first sync of ${sizes.first}, round ${round}: upload`, first.uploadSeconds, 's')
          say(`first sync of ${sizes.first}, round ${round}: comparing`, first.comparingSeconds, 's')
          say(`first sync of ${sizes.first}, round ${round}: sending`, first.rate, 'calls/s', 'at least 1500')
          const bareBefore = bare
          bare = await measureBareLoop(receiver.url, sizes.first)
          say('bare undici loop, again', bare, 'calls/s')
          const share = first.rate / ((bareBefore + bare) / 2)
          say(`share of the bare loop, round ${round}`, share, '')
          shares.push(share)
        }
        say('share of the bare loop, median', quantile(shares, 0.5), '', 'at least 0.5')
      }
      if (only.includes('large')) {
        const large = await measureLargeSync(node, receiver, sizes.large, Number(values.seconds) || undefined)
        say('live events, no sync: p50', large.idle.p50, 'ms')
        say('live events, no sync: p99', large.idle.p99, 'ms')
        say(`live events beside an upload of ${sizes.large}: p99`, large.uploading.p99, 'ms', 'at most 100')
        say(`live events beside a comparison of ${sizes.large}: p99`, large.comparing.p99, 'ms', 'at most 100')
        say(`live events beside a sync of ${sizes.large}: p50`, large.sending.p50, 'ms')
        say(`live events beside a sync of ${sizes.large}: p99`, large.sending.p99, 'ms', 'at most 100')
        say(`sync of ${sizes.large}, beside live events`, large.rate, 'calls/s')
        if (large.end !== undefined) {
          say('members that were told', large.end.received, '', `${sizes.large}`)
          say('calls that came twice', large.end.repeats, '', '0')
        }
      }
      say('memory of the idle node', node.memory.idleMb, 'MB')
      say('memory above the idle node, at most', node.memory.peakMb - node.memory.idleMb, 'MB', 'at most 400')
    } finally {
      await node.stop()
      await receiver.close()
    }
  }
  if (only.includes('upload')) {
    const node = await startCalmNode('upload')
    try {
      say(`upload of ${sizes.upload}`, await measureUpload(node, sizes.upload), 's')
      say('memory above the idle node meanwhile', node.memory.peakMb - node.memory.idleMb, 'MB', 'at most 400')
    } finally {
      await node.stop()
    }
  }
  if (only.includes('diff'))
    for (const kind of ['PostgreSQL', 'PGlite'] as const) {
      const diff = await measureDiff(kind, join(folder, kind), sizes.large, sizes.changed)
      const wanted = `at most ${kind === 'PGlite' ? 60 : 30}`
      say(`diff of ${sizes.large} members, ${sizes.changed} changed, on ${kind}`, diff.seconds, 's', wanted)
      say(`diff on ${kind}: longest stall of the main thread`, diff.longestStallMs, 'ms')
    }
} finally {
  await rm(folder, { recursive: true, force: true })
}
console.table(lines)
console.log(JSON.stringify(lines))
