import { sentence } from './error-notice.tsx'
import { formatTime } from './time.tsx'

/** A reason of the server as a sentence, with its times as all times of the app. */
export const readableReason = (reason: string): string =>
  sentence(
    reason.replace(/\b(\d{4}-\d\d-\d\d)(?:T([\d:.]+)Z| ([\d:]+) UTC)/g, (_, day, precise, short) =>
      formatTime(`${day}T${precise ?? short}Z`),
    ),
  )
