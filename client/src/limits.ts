/** Limits of the server's interface: `spec/`, "Limits" of the client library. */

/** One call, as JSON in UTF-8. */
export const MAX_CALL_BYTES = 32_768
/** One request's JSON, before compression. */
export const MAX_BATCH_BYTES = 512_000
/** Messages in one request. */
export const MAX_BATCH_MESSAGES = 2_500

/** Characters of a `messageId`. */
export const MAX_MESSAGE_ID_CHARACTERS = 100

/** Levels of nesting in one call. */
export const MAX_DEPTH = 100

export const encoder = new TextEncoder()
const scratch = new Uint8Array(MAX_CALL_BYTES)

/** `text` in UTF-8, or undefined when it is over 32,768 bytes. The bytes are good until the next call. */
export function encode(text: string): Uint8Array | undefined {
  const { read, written } = encoder.encodeInto(text, scratch)
  return read < text.length ? undefined : scratch.subarray(0, written)
}

/** Whether `json` has more than `levels` objects and arrays inside each other. */
export function isDeeperThan(levels: number, json: string): boolean {
  // Hardly any call has so many brackets: only those are looked at more closely.
  return (json.match(/[[{]/g)?.length ?? 0) > levels && depth(JSON.parse(json)) > levels
}

function depth(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depth))
}
