/** Payloads of the nodes of tests, which Temporal has sealed. */

import { EncryptionKeysSchema } from '../../src/config.ts'
import { dataConverter } from '../../src/temporal/data-converter.ts'
import { createSealedPayloads } from '../../src/temporal/sealed-payloads.ts'

/** The key ring of nodes of tests. */
export const encryptionKeys = `k1:${Buffer.alloc(32, 7).toString('base64')}`

/** With that key ring. */
export const testPayloads = createSealedPayloads(EncryptionKeysSchema.parse(encryptionKeys))

/** For clients that read what those nodes have written. */
export const testConverter = dataConverter(testPayloads)
