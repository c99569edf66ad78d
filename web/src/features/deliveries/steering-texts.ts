import type { SteeringAction } from '../../../../src/schemas/delivery.ts'

interface SteeringText {
  label: string
  /** What it does to one delivery, and to many. */
  one: string
  many: string
  /** Told once one delivery took it. */
  done: string
}

/** What people read of the actions on deliveries. */
export const steeringTexts: Record<SteeringAction, SteeringText> = {
  retry: {
    label: 'Retry now',
    one: 'Endpoints that wait for their next attempt get it now.',
    many: 'Deliveries that wait for their next attempt make it now. Others stay as they are.',
    done: 'The next attempt is made now',
  },
  redeliver: {
    label: 'Redeliver',
    one: 'The event is sent again, with the settings of now. Endpoints may get it twice.',
    many: 'Deliveries that have ended start again, with the settings of now. Endpoints may get an event twice.',
    done: 'It is delivered again',
  },
  cancel: {
    label: 'Cancel',
    one: 'The delivery stops for good. It can be redelivered later.',
    many: 'Deliveries that are under way stop for good. They can be redelivered later.',
    done: 'It is being cancelled',
  },
}
