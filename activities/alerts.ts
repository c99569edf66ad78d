/** The activities of `tellAlert`: which channels are told, and one telling. */

import { ApplicationFailure } from '@temporalio/activity'
import { alertFailures, type AlertActivities } from '../src/contracts/alerts.ts'
import { alertChannelIds, noteTold, openAlertChannel } from '../src/db/alert-channels.ts'
import { getAlert } from '../src/db/alerts.ts'
import type { Database } from '../src/db/database.ts'
import { linkTo, tell, type TellDependencies } from '../src/alerts/tell.ts'
import { AppError } from '../src/errors.ts'
import type { SecretBox } from '../src/secrets.ts'

export interface AlertDependencies extends TellDependencies {
  database: Database
  secrets: SecretBox
}

export function createAlertActivities(dependencies: AlertDependencies): AlertActivities {
  const { database, secrets } = dependencies
  return {
    async channelsToTell({ alertId }) {
      const alert = await unlessGone(getAlert(database, alertId))
      if (alert === undefined || alert.mutedUntil !== null) return []
      return alertChannelIds(database)
    },

    async tellChannel({ alertId, change, channelId }) {
      const alert = await unlessGone(getAlert(database, alertId))
      const channel = await unlessGone(openAlertChannel(database, secrets, channelId))
      if (alert === undefined || channel === undefined) return
      const link = linkTo(channel.appUrl, alert.path)
      const telling = await tell(dependencies, channel.settings, { alert, change, link })
      await noteTold(database, channelId, telling.kind === 'told' ? null : telling.reason)
      if (telling.kind === 'told') return
      throw ApplicationFailure.create({
        type: alertFailures[telling.kind],
        message: telling.reason,
        nonRetryable: telling.kind === 'refused',
        category: 'BENIGN',
      })
    },
  }
}

/** What was deleted meanwhile needs nothing. */
async function unlessGone<Value>(reading: Promise<Value>): Promise<Value | undefined> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return undefined
    throw error
  }
}
