/** Bounds of what one request may bring.
 *  @see `spec/`, "Limits" (Size of one call, Size of one batch request) */

/** Bytes of one call's JSON: the body of a single call, or one item of a batch. */
export const maxCallBytes = 32_768

/** Bytes of a request's JSON, after inflating. */
export const maxRequestBytes = 512_000

/** Bytes that all requests together may hold before they are whole. */
export const maxUnfinishedBytes = 128 * 1024 * 1024

/** Events of one batch. */
export const maxBatchEvents = 2_500

/** Levels of nesting of one event. Receivers' parsers stop at 64 to 1,000 levels, `JSON.stringify` and PostgreSQL at some
 *  thousand. */
export const maxDepth = 100
