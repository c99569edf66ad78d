/** How clients and workers write what goes to Temporal, and read what comes from there. */

import { fileURLToPath } from 'node:url'
import type { DataConverter } from '@temporalio/common'
import type { SealedPayloads } from './sealed-payloads.ts'

export const failureConverterPath = fileURLToPath(new URL('failure-converter.cjs', import.meta.url))

export const dataConverter = ({ seal, open }: SealedPayloads): DataConverter => ({
  failureConverterPath,
  payloadCodecs: [
    {
      encode: async (payloads) => payloads.map(seal),
      decode: async (payloads) => payloads.map(open),
    },
  ],
})
