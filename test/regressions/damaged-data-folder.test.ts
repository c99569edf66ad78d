/** Symptom: a data folder that was damaged, or restored in part, ended a start with a stack trace, or with a line that named no file.
 *  Cause: what came of the folder's files was taken as it was, or thrown on as it came.
 *  Consequence: the operator could not tell which file to put back, nor that there is a way out. */

import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { beforeEach, describe, expect, inject, it } from 'vitest'
import { prepareDatabase } from '../../src/composition/open-database.ts'
import { readConfig } from '../../src/config.ts'
import { StartError } from '../../src/errors.ts'
import { installationSecrets, withKeysOf } from '../../src/installation.ts'
import { createSecretBox } from '../../src/secrets.ts'
import { makeDataFolder } from '../support/app.ts'

const config = readConfig({})

let folder: string
beforeEach(async ({ onTestFinished }) => {
  folder = await makeDataFolder()
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
})

const failureOf = async (work: Promise<unknown>): Promise<string> => {
  const failure: unknown = await work.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(failure).toBeInstanceOf(StartError)
  const { message } = failure as StartError
  expect(message).not.toContain('\n')
  return message
}

describe('a start tells in one line', () => {
  it.each([
    ['an empty token', 'admin-token', '\n', 'delete it'],
    ['a token that no header carries', 'admin-token', 'has a blank\n', 'delete it'],
    ['empty keys', 'encryption-keys', '', 'put the file back from a backup'],
    ['damaged keys', 'encryption-keys', 'k1:short\n', 'put the file back from a backup'],
  ])('of %s', async (_what, file, text, wayOut) => {
    const path = join(folder, file)
    await writeFile(path, text)
    const message = await failureOf(installationSecrets(config, folder))
    expect(message).toContain(`${path} is damaged`)
    expect(message).toContain(wayOut)
  })

  it('of a folder that takes no files', async () => {
    const message = await failureOf(installationSecrets(config, join(folder, 'gone')))
    expect(message).toContain(`${join(folder, 'gone', 'admin-token')} cannot be written (ENOENT)`)
  })

  it('of keys that are not those of the database, where they should stand', async () => {
    const [before, after] = await Promise.all(
      ['before', 'after'].map(async (name) => {
        const one = join(folder, name)
        await mkdir(one)
        return installationSecrets(config, one)
      }),
    )
    if (before === undefined || after === undefined) throw new Error('no secrets')
    const sealed = createSecretBox(before.encryptionKeys).seal('secret')
    const read = async (): Promise<void> => void createSecretBox(after.encryptionKeys).open(sealed)
    const message = await failureOf(withKeysOf(config, folder, read))
    expect(message).toContain(`${join(folder, 'encryption-keys')} does not fit the database`)
    expect(message).toContain('put the file back from a backup')
  })

  it('of an embedded database that cannot be opened', { timeout: 120_000 }, async () => {
    const path = join(folder, 'pglite')
    await cp(inject('databaseTemplate'), path, { recursive: true })
    await writeFile(join(path, 'global', 'pg_control'), Buffer.alloc(8_192, 255))
    const database = prepareDatabase(config, folder, {
      logger: pino({ level: 'silent' }),
      onProgress: () => {},
      signal: new AbortController().signal,
    })
    try {
      const message = await failureOf(database.open(async () => {}))
      expect(message).toContain(`The embedded database ${path} cannot be opened`)
      expect(message).toContain('put it back from a backup')
    } finally {
      await database.close()
    }
  })
})
