import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Client, Connection } from '@temporalio/client'
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { findPostgres, startPostgres, type PostgresServer } from '../support/postgres.ts'
import { startTemporalCluster } from '../support/temporal-cluster.ts'
import type { TemporalCluster } from '../support/temporal-cluster.ts'
import { TEMPORAL_SERVER_VERSION } from '../support/temporal-server-binaries.ts'

describe.skipIf(findPostgres() === undefined)('a full Temporal server on PostgreSQL', () => {
  let postgres: PostgresServer
  let cluster: TemporalCluster

  beforeAll(async () => {
    Runtime.install({ logger: new DefaultLogger('WARN') })
    postgres = await startPostgres()
    cluster = await startTemporalCluster({
      postgres,
      binaries: inject('temporalBinaries'),
      cli: inject('temporalCli'),
    })
  })
  afterAll(async () => {
    await cluster.stop()
    await postgres.stop()
  })

  it('runs a workflow', async () => {
    const { address, namespace } = cluster
    const connection = await NativeConnection.connect({ address })
    const worker = await Worker.create({
      connection,
      namespace,
      taskQueue: 'echo',
      workflowsPath: resolve(import.meta.dirname, 'echo-workflow.ts'),
    })
    const client = new Client({ connection, namespace })
    const answer: unknown = await worker.runUntil(
      client.workflow.execute('echo', { taskQueue: 'echo', workflowId: 'echo/1', args: ['hello'] }),
    )
    await connection.close()
    expect(answer).toBe('hello')
  })

  it('is the version that docker-compose.yml runs', async () => {
    const compose = await readFile(resolve(import.meta.dirname, '../../docker-compose.yml'), 'utf8')
    const connection = await Connection.connect({ address: cluster.address })
    const { serverVersion } = await connection.workflowService.getSystemInfo({})
    await connection.close()
    expect(serverVersion).toBe(TEMPORAL_SERVER_VERSION)
    expect(compose).toContain(`image: temporalio/server:${TEMPORAL_SERVER_VERSION}\n`)
  })
})
