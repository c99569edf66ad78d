/** Workflows without the SDK's stack traces of promises, and with short ones of errors. Importing this module does it. */

/** The SDK keeps a stack trace of every promise of a workflow, for the call stack tab of Temporal's UI. It finds out which
 *  workflow a promise belongs to by compiling a line of source in the workflow's context, when the promise is made and when it
 *  settles, and looks each frame up in the source map: a quarter of the time that a workflow's code takes. Here it finds the
 *  workflow without compiling, which it needs for rejections that nobody handles, and for its traces it gets objects
 *  without a stack. The tab is empty: a workflow's timers and pending activities with their summaries tell where it is. */
class Stackless {}

const lookUp = (source: string) => (): unknown =>
  source.includes('__TEMPORAL_ACTIVATOR__')
    ? (globalThis as { __TEMPORAL_ACTIVATOR__?: unknown }).__TEMPORAL_ACTIVATOR__
    : Stackless

Object.defineProperty(Promise, 'constructor', { value: lookUp })

/** Of a fault the top frame tells the place. */
const frames = 1

Object.assign(Error, { stackTraceLimit: frames })
