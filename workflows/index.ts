export { deliverEvent } from './deliver-event.ts'
export { steerDeliveries } from './steer-deliveries.ts'
