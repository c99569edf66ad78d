/** Memberships in files, on their way to the node. */

import { open } from 'node:fs/promises'
import { Transform } from 'node:stream'
import type { Upload } from './api.ts'
import { usageError } from './failure.ts'
import { unreadable } from './input.ts'
import type { Output } from './output.ts'
import { startProgress } from './progress.ts'

const contentTypes = { ndjson: 'application/x-ndjson', csv: 'text/csv' }

const isFormat = (text: string): text is keyof typeof contentTypes => Object.hasOwn(contentTypes, text)

/** Streams a file, or standard input as `-`, with a progress bar.
 *  @throws CommandError (usage) when the file or its format cannot be told */
export async function membersUpload(file: string, format: string | undefined, out: Output): Promise<Upload> {
  const contentType = contentTypes[formatOf(file, format)]
  if (file === '-') return { body: process.stdin, contentType }
  const opened = await open(file).catch(unreadable(file))
  const found = await opened.stat()
  if (found.isDirectory()) {
    await opened.close()
    throw usageError(`${file} cannot be read: it is a folder`)
  }
  const { size } = found
  const bar = await startProgress(out, 'upload', size)
  let sent = 0
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bar.update((sent += chunk.length))
      done(null, chunk)
    },
  })
  counted.once('close', () => bar.stop())
  const input = opened.createReadStream().once('error', (error) => counted.destroy(error))
  return { body: input.pipe(counted), contentType }
}

function formatOf(file: string, format: string | undefined): keyof typeof contentTypes {
  const name = format ?? /\.(\w+)$/.exec(file)?.[1]?.toLowerCase().replace('jsonl', 'ndjson') ?? ''
  if (isFormat(name)) return name
  throw usageError(`give --format ndjson or --format csv: the file name ${file} does not say which`)
}
