/** What crosses the boundary between the node, the workflow that tells of an alert, and its activities. */

/** A change of state: an alert has begun, or is over. */
export type AlertChange = 'opened' | 'closed'

/** Input of the workflow `tellAlert`. */
export interface TellAlertInput {
  /** Id of the alert. */
  alertId: string
  /** Which of its changes is told. */
  change: AlertChange
}

/** Input of the activity that tells one channel. */
export interface TellChannelInput extends TellAlertInput {
  /** Id of the channel. */
  channelId: string
}

/** The activities of the workflow `tellAlert`. */
export interface AlertActivities {
  /** Ids of the channels that are to be told; none while the subject is muted. */
  channelsToTell(input: TellAlertInput): Promise<string[]>
  /** Tells one channel; fails where it did not take it. */
  tellChannel(input: TellChannelInput): Promise<void>
}

/** Failure types of its activities: another try would end the same way. */
export const alertFailures = { refused: 'AlertRefused', failed: 'AlertNotTaken' } as const

/** Workflow id of the telling of one change: however many nodes see it, it is told once. */
export const alertWorkflowId = ({ alertId, change }: TellAlertInput): string => `alert/${alertId}/${change}`
