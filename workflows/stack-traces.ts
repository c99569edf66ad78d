/** Short stack traces, for all workflows of a worker. */

/** The SDK takes a stack trace of every promise and looks each frame up in the source map: with the usual 10 frames that is
 *  two thirds of a workflow's time. The top frames are what a fault is found by. */
const frames = 3

Object.assign(Error, { stackTraceLimit: frames })
