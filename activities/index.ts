export { createDeliveryActivities, type DeliveryDependencies } from './delivery.ts'
