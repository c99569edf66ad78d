export { createDeliveryActivities, type DeliveryDependencies } from './delivery.ts'
export { createSteeringActivities, type SteeringActivityDependencies } from './steering.ts'
