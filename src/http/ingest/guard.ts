/** What is refused at the door of the ingest API, before its body is read: requests of one address beyond a bound, and all while
 *  memory runs out. */

import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import rateLimit from '@fastify/rate-limit'
import underPressure from '@fastify/under-pressure'
import type { FastifyInstance } from 'fastify'
import { AppError } from '../../errors.ts'

export interface GuardOptions {
  /** Requests a second of one address; absent: no bound. Of IPv6 the first 64 bits count. */
  maxRequestsPerAddress?: number | undefined
  /** Beyond so many bytes requests are refused; unless given, nine tenths of what the process may have. */
  memory?: MemoryLimits | undefined
}

export interface MemoryLimits {
  /** Bytes of JavaScript's heap that are in use. */
  heapBytes: number
  /** Bytes of the process in memory. */
  residentBytes: number
}

const retryAfterSeconds = 10

/** Share of the memory that a process may have: what is under way still needs some. */
const usableShare = 0.9

/** Guards the routes that are registered on `scope` afterwards. */
export async function guardIngest(scope: FastifyInstance, options: GuardOptions): Promise<void> {
  const { heapBytes, residentBytes } = options.memory ?? usableMemory()
  await scope.register(underPressure, {
    maxHeapUsedBytes: heapBytes,
    maxRssBytes: residentBytes,
    retryAfter: retryAfterSeconds,
    customError: ShortOfMemoryError,
  })
  if (options.maxRequestsPerAddress === undefined) return
  await scope.register(rateLimit, {
    max: options.maxRequestsPerAddress,
    timeWindow: 1_000,
    addHeaders: noLimitHeaders,
    addHeadersOnExceeding: noLimitHeaders,
    errorResponseBuilder: (_request, { max, ttl }) =>
      new AppError('too_many_requests', `One address may send ${max} requests a second.`, {
        retryAfterSeconds: Math.max(1, ttl / 1_000),
      }),
  })
}

const noLimitHeaders = { 'x-ratelimit-limit': false, 'x-ratelimit-remaining': false, 'x-ratelimit-reset': false }

class ShortOfMemoryError extends AppError {
  constructor() {
    super('unavailable', 'The node is short of memory; send it again later.', { retryAfterSeconds })
  }
}

/** What the process may use: of the heap that V8 gives it, and of the memory of the machine or of its container. */
function usableMemory(): MemoryLimits {
  const constrained = process.constrainedMemory()
  const memory = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
  return { heapBytes: usableShare * getHeapStatistics().heap_size_limit, residentBytes: usableShare * memory }
}
