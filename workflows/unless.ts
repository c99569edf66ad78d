import { CancellationScope, condition, isCancellation } from '@temporalio/workflow'

/** Runs something until it ends, is to be stopped, or the workflow is cancelled.
 *  @param beforeStop  done before it is cancelled
 *  @returns undefined when it was stopped without a result */
export async function unless<Result>(
  isStopped: () => boolean,
  work: () => Promise<Result>,
  beforeStop: () => Promise<void> = () => Promise.resolve(),
): Promise<Result | undefined> {
  // `beforeStop` comes before the cancellation, also when the whole workflow is cancelled.
  const scope = new CancellationScope({ cancellable: true, parent: new CancellationScope({ cancellable: false }) })
  let isOver = false
  const stop = async (): Promise<void> => {
    await condition(() => isOver || isStopped()).catch(() => undefined)
    if (isOver) return
    await beforeStop()
    scope.cancel()
  }
  const outer = CancellationScope.current()
  const stopping = stop()
  try {
    return await scope.run(work)
  } catch (error) {
    if (!isCancellation(error) || outer.consideredCancelled) throw error
    return undefined
  } finally {
    isOver = true
    await stopping
  }
}
