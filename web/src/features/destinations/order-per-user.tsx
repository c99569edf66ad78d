import type { UseFormReturnType } from '@mantine/form'
import type { DestinationValues } from './destination-form.ts'
import { WholeNumberField } from './whole-number-field.tsx'

/** Longest time for which an event waits for others, in seconds. */
const maxWaitSeconds = 24 * 3600

/** Whether each user's events go one after the other. */
export function OrderPerUser({ form }: { form: UseFormReturnType<DestinationValues> }) {
  return (
    <WholeNumberField
      form={form}
      path="orderWaitSeconds"
      label="Keep the order of each user's events"
      description="An event waits until the one before it of the same user has been delivered or has failed, for so many seconds at most, 1 to 86,400. Its other destinations wait, too. Empty: events of a user do not wait for each other"
      min={1}
      max={maxWaitSeconds}
      suffix=" s"
    />
  )
}
