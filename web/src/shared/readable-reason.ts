import { sentence } from './error-notice.tsx'
import { formatTime } from './time.tsx'

/** A reason of the server as a sentence, with its times as all times of the app. */
export const readableReason = (reason: string): string =>
  sentence(reason.replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, (at) => formatTime(at)))
