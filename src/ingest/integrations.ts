/** The `integrations` object of a call: which destinations it is for. */

import type { JsonObject } from '../schemas/source-event.ts'

type Integrations = JsonObject | null | undefined

/** Whether a call is for the destination `name`: its own entry decides, else `All`, else yes. The event's entries
 *  outrank the batch's; an object of options counts as true.
 *  @see `spec/`, "Messages" (Integrations map) */
export function isIntegrationOn(name: string, ofEvent: Integrations, ofBatch: Integrations): boolean {
  const setting = ofEvent?.[name] ?? ofBatch?.[name] ?? ofEvent?.['All'] ?? ofBatch?.['All']
  return setting !== false
}
