/** A Temporal that others run: its namespace and search attributes are made, or the operator is told what to run. */

import { randomUUID } from 'node:crypto'
import type { NativeConnectionOptions } from '@temporalio/worker'
import { expect, it } from 'vitest'
import { searchAttributes } from '../../src/contracts/names.ts'
import { StartError } from '../../src/errors.ts'
import { connectTemporal } from '../../src/temporal/connect.ts'
import { createConnectableTemporal, type Temporal } from '../../src/temporal/connection.ts'
import { durationMs } from '../../src/temporal/durations.ts'
import { startGrpcProxy } from '../support/grpc-proxy.ts'
import '../support/quiet-temporal.ts'
import { testPayloads } from '../support/sealed-payloads.ts'
import { createNamespace, temporalAddress } from '../support/temporal.ts'
import { runToldCommand } from '../support/told-command.ts'

const timeout = 120_000
const retentionMs = 36 * 3_600_000
const isOperatorCall = (path: string): boolean => /OperatorService|RegisterNamespace/.test(path)

/** Connects, and closes the connection after `use`. */
async function connected(
  namespace: string,
  options: NativeConnectionOptions,
  use: (temporal: Temporal) => Promise<void> = async () => {},
): Promise<void> {
  const temporal = createConnectableTemporal({
    namespace,
    address: options.address ?? '',
    uiUrl: undefined,
    payloads: testPayloads,
  })
  await connectTemporal(temporal, options, retentionMs, new AbortController().signal)
  try {
    await use(temporal)
  } finally {
    await temporal.connection.close()
  }
}

async function refusal(connecting: Promise<void>): Promise<string> {
  const error: unknown = await connecting.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(StartError)
  return (error as StartError).message
}

const temporalVariables = () => ({ TEMPORAL_ADDRESS: temporalAddress() })

it('is made whole, with the retention of the settings', { timeout }, async () => {
  const namespace = `made-${randomUUID()}`
  await connected(namespace, { address: temporalAddress() }, async ({ connection }) => {
    const { config } = await connection.workflowService.describeNamespace({ namespace })
    expect(durationMs(config?.workflowExecutionRetentionTtl)).toBe(retentionMs)
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace })
    expect(Object.keys(customAttributes)).toEqual(expect.arrayContaining(Object.keys(searchAttributes)))
  })
})

it('is made by one of several nodes that start together', { timeout }, async () => {
  // In which moment one finds what another one makes is for chance to say.
  for (let round = 0; round < 10; round++) {
    const namespace = `made-${randomUUID()}`
    await Promise.all(Array.from({ length: 3 }, () => connected(namespace, { address: temporalAddress() })))
  }
})

it('is used where a node may not administer it, once its operator ran what the start says', { timeout }, async () => {
  await using proxy = await startGrpcProxy(temporalAddress(), { denies: isOperatorCall })
  const namespace = `ordered-${randomUUID()}`
  const connecting = () => connected(namespace, { address: proxy.address })

  const noNamespace = await refusal(connecting())
  expect(noNamespace).toBe(
    `Temporal has no namespace "${namespace}" and does not let Postrider make it (Request unauthorized.); run: ` +
      `temporal operator namespace create --namespace '${namespace}' --retention 129600s`,
  )
  await runToldCommand(noNamespace, temporalVariables())

  await expect.poll(() => refusal(connecting()), { timeout: 60_000 }).toContain('lacks search attributes')
  const noAttributes = await refusal(connecting())
  for (const [name, type] of Object.entries(searchAttributes))
    expect(noAttributes).toMatch(new RegExp(`--name ${name} --type ${type === 'DATETIME' ? 'Datetime' : 'Keyword'}`))
  expect(noAttributes).toContain('--name PostriderDestinations --type KeywordList')
  expect(noAttributes).toContain('--name PostriderAcceptedAt --type Datetime')
  expect(noAttributes).not.toContain('\n')
  await runToldCommand(noAttributes, temporalVariables())
  // The server's caches have them some seconds later.
  await expect.poll(() => connecting().then(() => 'used', String), { timeout: 60_000 }).toBe('used')
})

it('says only what is missing', { timeout }, async () => {
  const namespace = await createNamespace()
  await using proxy = await startGrpcProxy(temporalAddress(), {
    denies: (path) => path.endsWith('/AddSearchAttributes'),
  })
  await connected(namespace, { address: temporalAddress() }, async ({ connection }) => {
    await connection.operatorService.removeSearchAttributes({ namespace, searchAttributes: ['PostriderUserId'] })
  })
  const said = await refusal(connected(namespace, { address: proxy.address }))
  expect(said).toMatch(
    new RegExp(
      `run: temporal operator search-attribute create --namespace '${namespace}' --name PostriderUserId --type Keyword$`,
    ),
  )
})

it('is refused where a node may only read it', { timeout }, async () => {
  const namespace = await createNamespace()
  await connected(namespace, { address: temporalAddress() })
  const reads = /\/(Describe|Get|List|Count)\w*$|grpc\.health/
  await using proxy = await startGrpcProxy(temporalAddress(), { denies: (path) => !reads.test(path) })
  expect(await refusal(connected(namespace, { address: proxy.address }))).toBe(
    `Temporal lets Postrider only read the namespace "${namespace}" (Request unauthorized.); ` +
      'give its API key or certificate the permission to write there',
  )
})

it('says why Temporal refuses to read it', { timeout }, async () => {
  const namespace = await createNamespace()
  await using proxy = await startGrpcProxy(temporalAddress(), { denies: (path) => !path.endsWith('/GetSystemInfo') })
  expect(await refusal(connected(namespace, { address: proxy.address }))).toBe(
    `Temporal at ${proxy.address} cannot be used: Request unauthorized.`,
  )
})
