import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { AppliedSchema, ApplySchema } from '../../schemas/settings-change.ts'
import type { Settings } from '../../settings/settings.ts'
import { applyChanges, type ApplyDependencies } from './apply-changes.ts'
import { expectShallow } from './expect-shallow.ts'
import { errorResponses, security } from './schemas.ts'

export interface ApplyRouteDependencies extends ApplyDependencies {
  settings: Settings
  /** To be called with changes that waiting deliveries must know. */
  onDestinationChanged: () => void
  /** To be called when a sync waits in the database. */
  onSyncRequested: () => void
}

/** Largest plan. */
const bodyLimit = 16 * 1_024 * 1_024

export const applyRoutes: FastifyPluginAsyncZod<ApplyRouteDependencies> = async (app, dependencies) => {
  const { settings, onDestinationChanged, onSyncRequested } = dependencies
  app.addHook('preValidation', expectShallow)

  app.post(
    '/apply',
    {
      bodyLimit,
      // Each of its changes leaves a trace of its own.
      config: { audit: false },
      schema: {
        tags: ['settings'],
        security,
        summary: 'Make many changes of settings, all of them or none',
        body: ApplySchema,
        response: { 200: AppliedSchema, ...errorResponses },
      },
    },
    async ({ body: { changes, dryRun }, actor }) => {
      const applied = await applyChanges(dependencies, changes, { actor: actor?.name ?? '', dryRun })
      if (applied) {
        await settings.refresh()
        onDestinationChanged()
        onSyncRequested()
      }
      return { applied }
    },
  )
}
