/** Symptom: a node took more than a minute to stop.
 *  Cause: browsers connect ahead of their requests, and Node counts such a connection as busy until the time for its
 *  first headers is over; live streams have no end of their own either.
 *  Consequence: the stop ran into its limit, and the process was ended hard. */

import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { adminToken, startTestApp } from '../support/app.ts'

it('stops at once although connections without a request and live streams are open', async () => {
  const node = await startTestApp()
  const source = await node.createSource()
  const ahead = connect(Number(new URL(node.url).port), '127.0.0.1')
  const aheadClosed = once(ahead, 'close')
  await once(ahead, 'connect')
  const stream = await fetch(`${node.url}/api/v1/sources/${source.id}/live`, {
    headers: { authorization: `Bearer ${adminToken}` },
  })
  const begin = performance.now()
  await node[Symbol.asyncDispose]()
  expect(performance.now() - begin).toBeLessThan(20_000)
  await aheadClosed
  expect(await stream.text()).toMatch(/^: open/)
})
