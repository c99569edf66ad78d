import { Batch } from './batch.ts'
import type { BatchFile } from './batch-store.ts'
import { encoder } from './limits.ts'
import type { Failure } from './outcome.ts'

const TOO_LARGE = 413

/** The same messages in two batches, in order, when the server found the one too large: it, or a proxy before it, may take
 *  less than it promises. `batch` is finished, and its safe copy goes, when both are done. */
export function halveBatch(batch: Batch, { status }: Failure): Batch[] | undefined {
  if (status !== TOO_LARGE || batch.count < 2) return undefined
  const messages = batch.read()
  const middle = Math.ceil(messages.length / 2)
  const file = batch.file && sharedByTwo(batch.file)
  const halves = [messages.slice(0, middle), messages.slice(middle)].map((part) => {
    const half = new Batch(file)
    for (const message of part) half.add(encoder.encode(JSON.stringify(message)))
    return half
  })
  void Promise.all(halves.map(({ finished }) => finished)).then(batch.finish)
  return halves
}

function sharedByTwo(file: BatchFile): BatchFile {
  let users = 2
  const remove = () => void (--users === 0 && file.remove())
  return Object.create(file, { remove: { value: remove } }) as BatchFile
}
