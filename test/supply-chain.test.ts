/** What a build says of the packages that it is made of. */

import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'

/** Runs a script of `.ci` with `input`. */
function run(script: string, input: unknown): { status: number | null; stdout: string } {
  const path = resolve(import.meta.dirname, '../.ci', script)
  const { status, stdout } = spawnSync(process.execPath, [path], { input: JSON.stringify(input), encoding: 'utf8' })
  return { status, stdout }
}

it('an advisory that nobody has excepted fails the build', () => {
  const advisory = {
    name: 'left-pad',
    severity: 'high',
    title: 'Pads right',
    url: 'https://github.com/advisories/GHSA-aaaa-bbbb-cccc',
  }
  const found = run('audit.js', {
    vulnerabilities: { 'left-pad': { via: [advisory] }, fastify: { via: ['left-pad'] } },
  })
  expect(found).toMatchObject({
    status: 1,
    stdout: expect.stringContaining('ADVISORY: left-pad, high: Pads right') as unknown,
  })
  expect(run('audit.js', { vulnerabilities: {} })).toMatchObject({ status: 0 })
})

it('a registry without advisories is told and fails nothing', () => {
  const answer = run('audit.js', { message: '405 Method Not Allowed', statusCode: 405 })
  expect(answer).toEqual({ status: 0, stdout: 'Advisories not checked: 405 Method Not Allowed\n' })
})

it('the bill of materials has all packages for production', () => {
  const { stdout } = spawnSync('npm', ['run', '--silent', 'sbom'], { encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 })
  const bill = JSON.parse(stdout) as { components: { name: string }[] }
  expect(run('check-sbom.js', bill)).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('missing: none') as unknown,
  })
  const poorer = { ...bill, components: bill.components.filter(({ name }) => name !== 'pino') }
  expect(run('check-sbom.js', poorer)).toMatchObject({
    status: 1,
    stdout: expect.stringContaining('missing: pino;') as unknown,
  })
})
