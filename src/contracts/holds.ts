/** What crosses the boundary between the node, the workflow that holds a failing destination, and its activities. */

/** Input of the workflow `holdDestination`, and of its activities; everything else is in the database. */
export interface HoldInput {
  /** Id of the destination. */
  destinationId: string
}

/** The activities of the workflow `holdDestination`. */
export interface HoldActivities {
  /** Pauses the destination, where it still fails and nobody paused it.
   *  @returns whether it is held */
  hold(input: HoldInput): Promise<boolean>
  /** Probes the endpoints, and resumes the destination when one answers.
   *  @returns whether it is held still */
  probeHeld(input: HoldInput): Promise<boolean>
}

/** Workflow id of the hold of a destination: of all nodes one holds it. */
export const holdWorkflowId = (destinationId: string): string => `hold/${destinationId}`
