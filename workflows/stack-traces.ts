/** Short stack traces, for all workflows of a worker. */

/** The SDK takes a stack trace of every promise and looks each frame up in the source map: with the usual 10 frames that is
 *  two thirds of a workflow's time. Of a fault the top frame tells the place; of promises nothing is left, so that
 *  Temporal's call stack of a workflow is empty, and its timers and pending activities with their summaries say where it is. */
const frames = 1

Object.assign(Error, { stackTraceLimit: frames })
