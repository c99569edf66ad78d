/** Which destinations an event goes to, or why to none. It is chosen once, when the event comes in: what a filter would say later of an event
 *  that is on its way changes nothing. */

import type { DeliveryTarget } from '../contracts/delivery.ts'
import type { Refusal } from '../filters/filter.ts'
import type { MessageBody } from '../schemas/message.ts'
import type { JsonObject } from '../schemas/source-event.ts'
import { isIntegrationOn } from './integrations.ts'
import type { IngestDestination } from './port.ts'

/** A destination whose filter does not take an event. */
export interface LeftOut extends Refusal {
  destinationId: string
  /** Name of the destination. */
  name: string
}

export interface Choice {
  targets: DeliveryTarget[]
  leftOut: LeftOut[]
}

type Integrations = JsonObject | null | undefined

/** Filters are asked of the event as endpoints receive it. */
export function chooseTargets(
  destinations: readonly IngestDestination[],
  message: MessageBody,
  ofEvent: Integrations,
  ofBatch: Integrations,
): Choice {
  const choice: Choice = { targets: [], leftOut: [] }
  for (const { integration, name, filter, ...target } of destinations) {
    if (!isIntegrationOn(integration, ofEvent, ofBatch)) continue
    const refusal = filter?.(message)
    if (refusal === undefined) choice.targets.push(target)
    else choice.leftOut.push({ ...refusal, destinationId: target.destinationId, name })
  }
  return choice
}

/** Most destinations that are told of. */
const maxTold = 3

/** Why no destination took an event, as `Shop (types: track)`; undefined where no filter had a part in it. */
export function wordsOfLeftOut(leftOut: readonly LeftOut[]): string | undefined {
  if (leftOut.length === 0) return undefined
  const told = leftOut.slice(0, maxTold).map(({ name, words }) => `${name} (${words})`)
  const others = leftOut.length - told.length
  return `Filters left it out: ${told.join(', ')}${others === 0 ? '' : `, and ${others} more`}.`
}
