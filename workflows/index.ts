export { deliverEvent } from './deliver-event.ts'
export { steerDeliveries } from './steer-deliveries.ts'
export { scheduledSync } from './scheduled-sync.ts'
export { syncAudience } from './sync-audience.ts'
