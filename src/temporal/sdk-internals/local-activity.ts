/** What the SDK records of local activities: a marker, for which it has no reader. */

import type { temporal } from '@temporalio/proto'

type HistoryEvent = temporal.api.history.v1.IHistoryEvent

/** Whether a local activity left the event. */
export const isLocalActivity = ({ markerRecordedEventAttributes: marker }: HistoryEvent): boolean =>
  marker?.markerName === 'core_local_activity'

/** What a local activity answered, as Temporal keeps it; undefined when it failed, and for other events. */
export const localActivityResult = ({
  markerRecordedEventAttributes: marker,
}: HistoryEvent): temporal.api.common.v1.IPayloads | undefined => marker?.details?.['result']
