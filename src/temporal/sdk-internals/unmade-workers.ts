/** Workers of which Temporal did not tell their namespace make room for the next one. Importing this module does it. */

import bridge from '@temporalio/core-bridge'

const { native } = bridge
const { workerValidate } = native

/** The SDK registers a new worker at its connection, and then asks Temporal after the namespace. Where that fails it leaves the worker to the
 *  garbage collector, and as long as that has not come, which may be hours on a node with little to do, the connection takes no other worker
 *  of the task queue. A worker that is told to shut down leaves its place at once. */
native.workerValidate = async (worker) => {
  try {
    return await workerValidate(worker)
  } catch (error) {
    native.workerInitiateShutdown(worker)
    throw error
  }
}
