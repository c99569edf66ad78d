/** Keeps one caller from overwriting what another changed meanwhile: what is read has an entity tag, and a change that names
 *  it in `If-Match` is refused when what it would overwrite is not as it was read. */

import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ChangeCheck } from '../../db/change-rule.ts'
import { AppError } from '../../errors.ts'

/** Enough to tell two values apart. */
const hashLength = 12

type Members = Record<string, unknown>

/** Members by their paths; the settings of a destination are told apart. */
const membersOf = ({ settings, ...members }: Members): Members => ({
  ...members,
  ...Object.fromEntries(Object.entries(settings ?? {}).map(([name, value]) => [`settings.${name}`, value])),
})

const hashOf = (value: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(value) ?? '')
    .digest('base64url')
    .slice(0, hashLength)

const tagOf = (entity: object): string =>
  Object.entries(membersOf({ ...entity }))
    .map(([name, value]) => `${name}:${hashOf(value)}`)
    .join(';')

/** Sends `entity` with its tag. Who may not change it gets none: it would help to guess secrets. */
export function tagged<Entity extends object>(request: FastifyRequest, reply: FastifyReply, entity: Entity): Entity {
  if (request.actor?.role === 'admin') void reply.header('etag', `"${tagOf(entity)}"`)
  return entity
}

/** Holds a change against what is there: to be called where nobody else can change it between that and the change.
 *  @returns what throws an AppError conflict that names the members of `patch` that are not as the caller read them */
export const unchangedCheck =
  ({ headers }: FastifyRequest, patch: object): ChangeCheck =>
  (entity) => {
    const expected = headers['if-match']
    if (expected === undefined || expected === '*') return
    const before = new Set(expected.replace(/^(W\/)?"|"$/g, '').split(';'))
    const changed = tagOf(entity)
      .split(';')
      .filter((tag) => !before.has(tag))
      .map((tag) => tag.slice(0, tag.lastIndexOf(':')))
    const overwritten = Object.keys(membersOf({ ...patch })).filter((name) => changed.includes(name))
    if (overwritten.length > 0)
      throw new AppError(
        'conflict',
        `This was changed since it was read: ${overwritten.join(', ')}. Read it again before you change it.`,
      )
  }
