/** What crosses the boundary between the API, the workflow of a deletion request and its activity. */

/** Input of the workflow `deletionRequest`; everything else is in the database. */
export interface DeletionRequestInput {
  /** Id of the request. */
  requestId: string
}

/** The activities of the workflow `deletionRequest`. */
export interface DeletionActivities {
  /** Calls off what waits for the users of a request, and starts their notifications. Goes on where it was cut off. */
  carryOutDeletion(input: DeletionRequestInput): Promise<void>
  /** Destroys the keys of the users, once every notification has ended; fails before. */
  destroyKeys(input: DeletionRequestInput): Promise<void>
}

/** Failure types of its activities: notifications are under way. */
export const deletionFailures = { underWay: 'NotificationsUnderWay' } as const

/** Workflow id of a deletion request. */
export const deletionRequestWorkflowId = (requestId: string): string => `deletion-request/${requestId}`

/** Beginning of the workflow ids of a request's notifications. */
export const notificationPrefix = (requestId: string): string => `delete/${requestId}/`

/** Id of the request of which a delivery is a notification; undefined when it is none. */
export const notifiedRequestOf = (deliveryId: string): string | undefined => /^delete\/([^/]+)\//.exec(deliveryId)?.[1]

/** Workflow id of one notification.
 *  @param userKey  the user id, or its hash */
export const notificationWorkflowId = (requestId: string, sourceId: string, userKey: string): string =>
  `${notificationPrefix(requestId)}${sourceId}/${userKey}`
