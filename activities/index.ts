export { createAudienceActivities, type AudienceActivityDependencies } from './audiences.ts'
export { createDeletionActivities, type DeletionActivityDependencies } from './deletions.ts'
export { createDeliveryActivities, type AttemptObservation, type DeliveryDependencies } from './delivery.ts'
export { createSteeringActivities, type SteeringActivityDependencies } from './steering.ts'
