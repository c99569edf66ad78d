/** What crosses the boundary between the API, the workflow of a deletion request and its activity. */

/** Input of the workflow `deletionRequest`; everything else is in the database. */
export interface DeletionRequestInput {
  /** Id of the request. */
  requestId: string
}

/** The activity of the workflow `deletionRequest`. */
export interface DeletionActivities {
  /** Calls off what waits for the users of a request, and starts their notifications. Goes on where it was cut off. */
  carryOutDeletion(input: DeletionRequestInput): Promise<void>
}

/** Workflow id of a deletion request. */
export const deletionRequestWorkflowId = (requestId: string): string => `deletion-request/${requestId}`

/** Beginning of the workflow ids of a request's notifications. */
export const notificationPrefix = (requestId: string): string => `delete/${requestId}/`

/** Workflow id of one notification.
 *  @param userKey  the user id, or its hash */
export const notificationWorkflowId = (requestId: string, sourceId: string, userKey: string): string =>
  `${notificationPrefix(requestId)}${sourceId}/${userKey}`
