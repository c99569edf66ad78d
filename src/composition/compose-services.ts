/** What a node does, put together on its foundation: takes events in, delivers them, syncs audiences, deletes users. */

import type { Config } from '../config.ts'
import { createAttemptRecorder } from '../observation/attempts.ts'
import { countMappingFailures } from '../observation/mapping-failures.ts'
import { composeAlerts, type AlertServices } from './compose-alerts.ts'
import { composeAudiences, type AudienceServices } from './compose-audiences.ts'
import { composeDeletions, type DeletionServices } from './compose-deletions.ts'
import { composeDeliveries, type DeliveryServices } from './compose-deliveries.ts'
import type { Foundation } from './compose-foundation.ts'
import { composeGate, type GateServices } from './compose-gate.ts'
import { composeHolds, type HoldServices } from './compose-holds.ts'
import { composeIntake, type IntakeServices } from './compose-intake.ts'

export interface Services {
  gate: GateServices
  intake: IntakeServices
  deliveries: DeliveryServices
  audiences: AudienceServices
  deletions: DeletionServices
  holds: HoldServices
  alerts: AlertServices
}

export function composeServices(config: Config, foundation: Foundation): Services {
  const { retry } = config
  const gate = composeGate({ ...foundation, config })
  const intake = composeIntake({ ...foundation, ...gate, config })
  const sendingMapper = countMappingFailures(foundation.registry)(foundation.mapper)
  const { queuedSteering, onLineMoved } = intake
  const recorder = createAttemptRecorder(foundation.database, foundation.logger)
  const attempting = { ...foundation, ...gate, sendingMapper, recorder }
  const deliveries = composeDeliveries({ ...attempting, config, queuedSteering, onLineMoved })
  const audiences = composeAudiences({ ...foundation, ...gate, mapper: sendingMapper, recorder, retry })
  const deletions = composeDeletions({ ...foundation, retry, steering: deliveries.steering })
  const holds = composeHolds({ ...foundation, ...gate, onResumed: deliveries.onDestinationChanged })
  return { gate, intake, deliveries, audiences, deletions, holds, alerts: composeAlerts(foundation) }
}
