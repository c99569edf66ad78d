/** W3C Trace Context as it travels with an event: `00-<trace id>-<span id>-<flags>`.
 *  @see W3C Trace Context, "traceparent Header" */

/** Id of the trace that it belongs to. */
export const traceIdOf = (traceparent: string): string => traceparent.slice(3, 35)
