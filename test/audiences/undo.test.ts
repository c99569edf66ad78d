import { expect, it } from 'vitest'
import type { Page } from '../../src/db/page.ts'
import type { Audience, AudienceMember, Sync } from '../../src/schemas/audience.ts'
import {
  createAudience,
  describeOnEachDatabase,
  ended,
  givenAudience,
  start,
  state,
  told,
  upload,
  uploadAndSync,
} from './setup.ts'

describeOnEachDatabase('undo on', (databaseKind) => {
  const given = givenAudience(databaseKind)

  /** The traits that the receiver was told last of a user. */
  const traitsOf = (userId: string): unknown =>
    told(given.receiver.requests).findLast((one) => one.userId === userId)?.traits

  const members = async (audience = given.audience): Promise<Record<string, unknown>> => {
    const { body } = await given.node.api<Page<AudienceMember>>('GET', `/audiences/${audience.id}/members`)
    return Object.fromEntries(body.items.map(({ userId, traits }) => [userId, traits]))
  }

  const undo = async (syncId: string, audience = given.audience) =>
    ended(given.node, audience, await start(given.node, audience, `syncs/${syncId}/undo`))

  const pro = { userId: 'u1', traits: { plan: 'pro' } }
  const free = { userId: 'u2', traits: { plan: 'free', seats: 2 } }

  it.each(['upload', 'change'])('tells who comes back with the traits that they had, after an %s', async (way) => {
    await uploadAndSync(given.node, given.audience, [pro, free])
    const body = { add: [{ userId: 'u3', traits: { plan: 'new' } }], remove: ['u2'] }
    const removal =
      way === 'upload'
        ? await uploadAndSync(given.node, given.audience, [pro, ...body.add])
        : await ended(given.node, given.audience, await start(given.node, given.audience, 'members', body))
    expect(removal).toMatchObject({ status: 'completed', added: 1, removed: 1, sent: 2 })
    expect(traitsOf('u2')).toEqual({ vip_customers: false })

    const undone = await undo(removal.id)
    expect(undone).toMatchObject({ status: 'completed', added: 1, removed: 1, unchanged: 1, sent: 2 })
    expect(traitsOf('u2')).toEqual({ ...free.traits, vip_customers: true })
    expect(await members()).toEqual({ u1: pro.traits, u2: free.traits })
    expect(await uploadAndSync(given.node, given.audience, [pro, free])).toMatchObject({ sent: 0, unchanged: 2 })

    // An undo can itself be undone.
    expect(await undo(undone.id)).toMatchObject({ status: 'completed', sent: 2 })
    expect(traitsOf('u3')).toEqual({ plan: 'new', vip_customers: true })
    expect(traitsOf('u2')).toEqual({ vip_customers: false })
  })

  it('tells them also where the removal got through at a second try only', async () => {
    await uploadAndSync(given.node, given.audience, [pro, free])
    given.receiver.answer({ status: 400 })
    expect(await uploadAndSync(given.node, given.audience, [pro])).toMatchObject({ removed: 1, failed: 1 })
    given.receiver.answer({})
    const removal = await ended(given.node, given.audience, await start(given.node, given.audience, 'sync'))
    expect(removal).toMatchObject({ removed: 1, sent: 1 })
    await undo(removal.id)
    expect(traitsOf('u2')).toEqual({ ...free.traits, vip_customers: true })
    expect(await members()).toEqual({ u1: pro.traits, u2: free.traits })
  })

  it('tells a computed trait with the traits that it had been told with', async () => {
    const spent = await createAudience(given.node, [given.destinationId], { name: 'Spent', kind: 'trait' })
    const row = (value: number, plan: string): object => ({ userId: 'u1', value, traits: { plan } })
    await ended(given.node, spent, await upload(given.node, spent, [row(1, 'free')]))
    const raise = await ended(given.node, spent, await upload(given.node, spent, [row(2, 'pro')]))
    await undo(raise.id, spent)
    expect(state(given.receiver.requests, 'spent')).toEqual({ u1: 1 })
    expect(traitsOf('u1')).toEqual({ plan: 'free', spent: 1 })
    expect(await members(spent)).toEqual({ u1: { plan: 'free' } })
  })

  it('counts the members anew, with those who came back', async () => {
    await uploadAndSync(given.node, given.audience, ['u1', 'u2', 'u3', 'u4'])
    await given.node.api('PATCH', `/audiences/${given.audience.id}`, { maxRemovalShare: 1 })
    const removal = await uploadAndSync(given.node, given.audience, ['u1'])
    await undo(removal.id)
    expect(Object.keys(await members())).toHaveLength(4)
    const { body } = await given.node.api<Audience>('GET', `/audiences/${given.audience.id}`)
    expect(body.members).toBe(4)
    expect(state(given.receiver.requests)).toEqual({ u1: true, u2: true, u3: true, u4: true })
  })

  it('counts as unchanged who is a member before and after it', async () => {
    const spent = await createAudience(given.node, [given.destinationId], { name: 'Spent', kind: 'trait' })
    const rows = (...values: number[]): object[] => values.map((value, index) => ({ userId: `u${index}`, value }))
    const sync = async (...values: number[]) =>
      ended(given.node, spent, await upload(given.node, spent, rows(...values)))
    await sync(1, 1, 1, 1)
    const raiseAndRemoval = await sync(1, 2, 1)
    const undone = await undo(raiseAndRemoval.id, spent)
    expect(undone).toMatchObject({ added: 2, removed: 0, unchanged: 2, sent: 2 })
    expect(await undo(undone.id, spent)).toMatchObject({ added: 1, removed: 1, unchanged: 2, sent: 2 })
  })

  it('leaves members who are known at another destination still', async () => {
    const late = await given.node.connect([], [`${given.receiver.url}/late`], { enabled: false })
    const both = await createAudience(given.node, [given.destinationId, late.id], { name: 'Both' })
    await uploadAndSync(given.node, both, ['u1', 'u2'])
    expect((await given.node.api('PATCH', `/destinations/${late.id}`, { enabled: true })).status).toBe(200)
    // One is news to both destinations, two only to the one that was off.
    const second = await uploadAndSync(given.node, both, ['u1', 'u2', 'u3'])
    expect(await undo(second.id, both)).toMatchObject({ status: 'completed', removed: 3, sent: 4 })
    expect(Object.keys(await members(both)).sort()).toEqual(['u1', 'u2'])
  })

  it('is there only for syncs that changed something', async () => {
    const first = await uploadAndSync(given.node, given.audience, ['u1', 'u2'])
    const same = await uploadAndSync(given.node, given.audience, ['u1', 'u2'])
    const again = await ended(given.node, given.audience, await start(given.node, given.audience, 'resync'))
    expect(again).toMatchObject({ status: 'completed', sent: 2 })
    expect([first, same, again].map(({ undoable }) => undoable)).toEqual([true, false, false])
    for (const { id } of [same, again]) {
      const answer = await given.node.api('POST', `/audiences/${given.audience.id}/syncs/${id}/undo`)
      expect(answer).toMatchObject({
        status: 409,
        body: { message: expect.stringMatching(/nothing to take back/) as unknown },
      })
    }
  })

  it('is there only while something is left to take back', async () => {
    const undoable = async (): Promise<boolean[]> => {
      const { body } = await given.node.api<Page<Sync>>('GET', `/audiences/${given.audience.id}/syncs`)
      return body.items.map((sync) => sync.undoable).reverse()
    }
    await uploadAndSync(given.node, given.audience, ['u1', 'u2', 'u3'])
    const second = await uploadAndSync(given.node, given.audience, ['u1', 'u2', 'u3', 'u4'])
    const undone = await undo(second.id)
    expect(await undoable()).toEqual([true, false, true])
    expect(await given.node.api('POST', `/audiences/${given.audience.id}/syncs/${second.id}/undo`)).toMatchObject({
      status: 409,
      body: { message: expect.stringMatching(/nothing to take back/) as unknown },
    })
    await undo(undone.id)
    expect(await undoable()).toEqual([true, true, false, true])
    await uploadAndSync(given.node, given.audience, ['u1', 'u2', 'u3'])
    expect(await undoable()).toEqual([true, false, false, false, true])
  })
})
