/** How a delivery that is told of changes reads its destination: no more often than it must. */

import { CancellationScope, patched } from '@temporalio/workflow'

/** Whether changes that are told while a read is under way lead to one further read, and changes of a destination that is held to the
 *  read of its hold alone. In deliveries that began with an early version, each change leads to a read by every endpoint and by
 *  the hold. */
export const readsOnce = (): boolean => patched('changes-read-once')

/** Does work that is asked for many times at once.
 *  @returns a function that does `work`; calls while it is under way have it done once more afterwards, however many they are */
export function collapsed(work: () => Promise<void>): () => Promise<void> {
  let isUnderWay = false
  let isAskedAgain = false
  return async () => {
    isAskedAgain = true
    if (isUnderWay) return
    isUnderWay = true
    const scope = CancellationScope.current()
    try {
      while (isAskedAgain && !scope.consideredCancelled) {
        isAskedAgain = false
        await work()
      }
    } finally {
      isUnderWay = false
    }
  }
}
