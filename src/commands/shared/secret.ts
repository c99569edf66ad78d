import { StartError } from '../../errors.ts'
import { withSecretFiles, type SecretName } from '../../secret-files.ts'
import { usageError } from './failure.ts'

/** A secret of the environment, or of the file that the environment names for it; undefined when there is neither.
 *  @throws CommandError (usage) when the file cannot be used */
export function secretOf(env: NodeJS.ProcessEnv, name: SecretName): string | undefined {
  try {
    return withSecretFiles(env, [name])[name]
  } catch (error) {
    throw error instanceof StartError ? usageError(error.message) : error
  }
}
