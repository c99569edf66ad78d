/** The Temporal server that the settings name. */

import { Connection } from '@temporalio/client'
import { loadClientConnectConfig } from '@temporalio/envconfig'
import type { Config } from '../../config.ts'
import { withSecretFiles } from '../../secret-files.ts'
import { ok, problem, type Check } from './check.ts'

const connectLimitMs = 5_000

const mend =
  'Check that Temporal runs where TEMPORAL_ADDRESS says, that TEMPORAL_NAMESPACE exists there, and that ' +
  'TEMPORAL_API_KEY or TEMPORAL_TLS_* fit.'

export async function checkTemporal({ temporal }: Pick<Config, 'temporal'>, env: NodeJS.ProcessEnv): Promise<Check> {
  if (temporal.kind === 'embedded') return ok('Temporal', 'the embedded one, which runs with the node')
  let connection: Connection | undefined
  try {
    const given = Object.entries(withSecretFiles(env, ['TEMPORAL_API_KEY']))
    const overrideEnvVars = Object.fromEntries(
      given.filter((entry): entry is [string, string] => entry[1] !== undefined),
    )
    const { connectionOptions, namespace = 'default' } = loadClientConnectConfig({ overrideEnvVars })
    connection = await Connection.connect({ ...connectionOptions, connectTimeout: connectLimitMs })
    const { workflowService } = connection
    const version = await connection.withDeadline(Date.now() + connectLimitMs, async () => {
      await workflowService.describeNamespace({ namespace })
      return (await workflowService.getSystemInfo({})).serverVersion
    })
    return ok('Temporal', `${connectionOptions.address ?? ''}, namespace ${namespace}, server ${version}`)
  } catch (error) {
    return problem('Temporal', `it cannot be used: ${(error as Error).message}`, mend)
  } finally {
    await connection?.close()
  }
}
