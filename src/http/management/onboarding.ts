import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { wasAnyDelivered } from '../../db/attempt-stats.ts'
import type { Database } from '../../db/database.ts'
import { readFact, writeFact } from '../../db/installation.ts'
import { wasAnyReceived } from '../../db/overview.ts'
import { OnboardingSchema } from '../../schemas/system.ts'
import type { Settings } from '../../settings/settings.ts'
import { errorResponses, security } from './schemas.ts'

export interface OnboardingDependencies {
  database: Database
  settings: Settings
}

/** The steps to the first event. */
export const onboardingRoutes: FastifyPluginAsyncZod<OnboardingDependencies> = async (app, { database, settings }) => {
  app.get(
    '/onboarding',
    {
      schema: {
        tags: ['overview'],
        summary: 'Which of the first steps were taken',
        security,
        response: { 200: OnboardingSchema, ...errorResponses },
      },
    },
    async () => ({
      sourceCreated: [...settings.sources()].length > 0,
      destinationConnected: [...settings.sources()].some(({ destinations }) =>
        destinations.some((destination) => destination.settings.webhooks.length > 0),
      ),
      firstEventReceived: await everHappened(database, 'first-event-received', wasAnyReceived),
      firstEventDelivered: await everHappened(database, 'first-event-delivered', wasAnyDelivered),
    }),
  )
}

/** Figures are forgotten after a month; that a first event came is kept. */
async function everHappened(
  database: Database,
  factName: string,
  isSo: (database: Database) => Promise<boolean>,
): Promise<boolean> {
  if ((await readFact(database, factName)) !== undefined) return true
  if (!(await isSo(database))) return false
  await writeFact(database, factName, new Date().toISOString())
  return true
}
