import type { Temporal } from './connection.ts'
import { isNotFound } from './grpc-errors.ts'

/** Does something with the workflow of a delivery, under whichever of its ids it is there.
 *  @throws what says that there is none under any of them; whatever else `work` throws */
export async function underEachId<Result>(
  { names }: Pick<Temporal, 'names'>,
  deliveryId: string,
  work: (workflowId: string) => Promise<Result>,
): Promise<Result> {
  const [first = deliveryId, ...others] = names.workflowIds(deliveryId)
  let result = work(first)
  for (const id of others)
    result = result.catch((error: unknown) => {
      if (!isNotFound(error)) throw error
      return work(id)
    })
  return result
}
