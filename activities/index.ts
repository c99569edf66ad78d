export { createAlertActivities, type AlertDependencies } from './alerts.ts'
export { createAudienceActivities, type AudienceActivityDependencies } from './audience-sync.ts'
export { createDeletionActivities, type DeletionActivityDependencies } from './deletions.ts'
export {
  createDeliveryActivities,
  type AttemptDependencies,
  type AttemptObservation,
  type DeliveryDependencies,
} from './delivery.ts'
export { createHoldActivities, type HoldDependencies } from './holds.ts'
export { createParcelActivities, type ParcelDependencies } from './parcels.ts'
export { createSteeringActivities, type SteeringActivityDependencies } from './steering.ts'
