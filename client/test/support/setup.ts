/** A server and a client for one test, both closed after it. */

import { Analytics } from '@postrider/analytics'
import type { DeliveryError, NodeAnalyticsOptions } from '@postrider/analytics'
import { onTestFinished } from 'vitest'
import { startIngestServer } from './ingest-server.ts'
import type { IngestServer } from './ingest-server.ts'

export interface Setup {
  server: IngestServer
  analytics: Analytics
  errors: DeliveryError[]
}

export async function setup(options: NodeAnalyticsOptions = {}): Promise<Setup> {
  const server = await startIngestServer()
  const errors: DeliveryError[] = []
  const analytics = new Analytics('key', {
    endpoint: server.url,
    onError: (error) => void errors.push(error),
    ...options,
  })
  onTestFinished(async () => {
    await analytics.close({ timeoutMs: 0 })
    await server.stop()
  })
  return { server, analytics, errors }
}
