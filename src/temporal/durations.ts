/** Durations as Temporal's API has them. */

import proto from '@temporalio/proto'

type Duration = proto.google.protobuf.IDuration

/** @param ms  milliseconds, whole ones */
export const toDuration = (ms: number): Duration =>
  proto.google.protobuf.Duration.fromObject({ seconds: Math.floor(ms / 1_000), nanos: (ms % 1_000) * 1_000_000 })

/** Milliseconds; 0 for none. */
export const durationMs = (duration: Duration | null | undefined): number =>
  Number(duration?.seconds ?? 0) * 1_000 + (duration?.nanos ?? 0) / 1_000_000
