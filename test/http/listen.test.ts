import fastify from 'fastify'
import { expect, it } from 'vitest'
import { StartError } from '../../src/errors.ts'
import { listen } from '../../src/http/listen.ts'

it.each([
  // No resolver may answer for these names and addresses (RFC 6761, RFC 5737).
  ['a name without an address', 'nothing.invalid', /^HOST nothing\.invalid is a name without an address: [^\n]+$/],
  ['an address of another machine', '192.0.2.1', /^HOST 192\.0\.2\.1 is no address of this machine: [^\n]+$/],
])('says in one line what is wrong with %s', { timeout: 60_000 }, async (_what, host, line) => {
  const failure: unknown = await listen(fastify(), host, 0).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(StartError)
  expect((failure as StartError).message).toMatch(line)
})

it('names the setting of a port that is in use', async () => {
  const first = fastify()
  try {
    const port = Number(new URL(await listen(first, '127.0.0.1', 0)).port)
    await expect(listen(fastify(), '127.0.0.1', port, 'POSTRIDER_ADMIN_PORT')).rejects.toThrow(
      `Port ${port} on 127.0.0.1 is in use; stop what uses it or set POSTRIDER_ADMIN_PORT`,
    )
  } finally {
    await first.close()
  }
})
