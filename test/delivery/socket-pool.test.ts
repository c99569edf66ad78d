import { Client } from 'undici'
import { expect, it } from 'vitest'
import { createSocketPool } from '../../src/delivery/socket-pool.ts'

const origin = 'http://127.0.0.1:1'

it('gives a lease back when no connection can be opened, to those who wait too', async () => {
  // No peer makes opening fail.
  let isBroken = true
  const pool = createSocketPool({
    open: (name) => {
      if (isBroken) throw new Error('broken')
      return new Client(name)
    },
    maxSocketsPerOrigin: 1,
    maxOrigins: 1,
  })
  for (let n = 0; n < 3; n++) await expect(async () => pool.lease(origin)).rejects.toThrow('broken')
  isBroken = false
  const first = await pool.lease(origin)
  const waiting = [pool.lease(origin), pool.lease(origin)]
  isBroken = true
  first.release(false)
  for (const lease of waiting) await expect(lease).rejects.toThrow('broken')
  isBroken = false
  const last = await pool.lease(origin)
  last.release(true)
  await pool.close()
})
