import type { DeliverySteered, SteeringAction, SteeringObstacle } from '../../../../src/schemas/delivery.ts'

interface SteeringText {
  label: string
  /** On the button that does it to one delivery, where the label might be read as the way back. */
  confirm?: string
  /** What it does to one delivery, and to many. */
  one: string
  /** What can be done afterwards with one that was not erased. */
  later?: string
  many: string
}

/** What people read of the actions on deliveries. */
export const steeringTexts: Record<SteeringAction, SteeringText> = {
  retry: {
    label: 'Retry now',
    one: 'The next attempt is made now instead of later; at an endpoint that is down or busy, as soon as it can be tried.',
    many: 'Deliveries that wait for their next attempt are tried now. Others stay as they are; events in the inbox are sent in their turn.',
  },
  redeliver: {
    label: 'Redeliver',
    one: 'The event is sent again, with the current settings. Endpoints may get it twice.',
    many: 'Deliveries that have ended start again, with the current settings. Endpoints may get an event twice.',
  },
  cancel: {
    label: 'Cancel',
    confirm: 'Cancel the delivery',
    one: 'The delivery stops.',
    later: 'It can be redelivered later.',
    many: 'Deliveries that have not ended stop, and events in the inbox are not sent. They can be redelivered later.',
  },
}

/** Texts of what keeps an action from deliveries. */
export const obstacleTexts: Record<SteeringObstacle, string> = {
  held: 'paused destinations hold them; resume those to send them',
  over: 'they have already ended',
  under_way: 'they have not ended yet',
  queued: 'they wait in the inbox and are sent in their turn',
  no_destination: 'their destinations were deleted or are switched off',
  gone: 'they no longer exist',
}

/** Texts that are shown once a delivery took an action. */
export const steeredTexts: Record<DeliverySteered | 'redelivered', string> = {
  retrying: 'Retry requested: each attempt is listed below as it is made',
  started: 'The delivery has started',
  queued: 'It waits in the inbox until Temporal accepts it',
  cancelled: 'It was cancelled before its delivery started',
  cancelling: 'It is being cancelled',
  redelivered: 'The event is being sent again',
}
