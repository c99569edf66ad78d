/** Bounds what all request bodies together hold that have not arrived whole. */

/** Bytes that a part of a body takes beside its own, roughly: bodies may come in parts of one byte. */
const partOverhead = 200

export interface UnfinishedBodies {
  /** @param giveWay  called when this body must go to make room: the one that began longest ago goes first */
  begin(giveWay: () => void): UnfinishedBody
}

export interface UnfinishedBody {
  /** One more part of so many bytes has come. */
  grow(bytes: number): void
  /** It is whole, or holds nothing any more. */
  end(): void
}

export function boundUnfinishedBodies(maxBytes: number): UnfinishedBodies {
  const bodies = new Set<{ bytes: number; giveWay: () => void }>()
  let total = 0
  return {
    begin(giveWay) {
      const body = { bytes: 0, giveWay }
      bodies.add(body)
      const end = (one: typeof body): void => {
        if (bodies.delete(one)) total -= one.bytes
      }
      return {
        grow(bytes) {
          if (!bodies.has(body)) return
          body.bytes += bytes + partOverhead
          total += bytes + partOverhead
          for (const oldest of bodies) {
            if (total <= maxBytes) return
            end(oldest)
            oldest.giveWay()
          }
        },
        end: () => end(body),
      }
    },
  }
}
