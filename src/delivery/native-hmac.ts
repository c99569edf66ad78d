/** Gives the library for Standard Webhooks the HMAC of Node: the one it brings along is JavaScript, for browsers too, and
 *  takes three times as long for a delivery's signatures. What is signed, and how it is written, stays the library's. */

import { createHmac } from 'node:crypto'
import { createRequire } from 'node:module'

const library = createRequire(import.meta.url).resolve('standardwebhooks')
const hashes = createRequire(library)('fast-sha256') as { hmac: (key: Uint8Array, data: Uint8Array) => Uint8Array }

hashes.hmac = (key, data) => createHmac('sha256', key).update(data).digest()
