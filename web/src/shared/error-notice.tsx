import { Alert, Button, Stack, Text } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { ApiError } from '../api/request.ts'

/** What the app says itself about an error, by its code: the server's words are for programs. */
const ownSentences: Record<string, string> = {
  unreachable:
    'Postrider did not answer, so it may or may not be done: check that it is running and that you are connected, look ' +
    'whether it is done, and try again if it is not.',
  no_answer:
    'A proxy in front of Postrider answered with an error, so it may or may not be done: check that Postrider is running, ' +
    'look whether it is done, and try again if it is not.',
  // Also true once somebody has signed in beside it.
  unauthorized: 'Nothing was done, since your session had ended: sign in and try again.',
  internal_error: 'Postrider made a mistake: try again, and if it happens again, look for the details in its log.',
}

/** The same where something was only to be read: nothing can be half done, and the page asks again by itself. */
const ownSentencesOfReading: Record<string, string> = {
  // True until it is read again, too.
  unauthorized: 'Your session had ended when this was read. This page continues by itself once you are signed in.',
  unreachable:
    'Postrider does not answer: check that it is running and that you are connected. This page continues by itself.',
  no_answer:
    'A proxy in front of Postrider answered with an error: check that Postrider is running. This page continues by itself.',
}

/** One sentence that says what is wrong with something that was to be done and, where that is known, how to mend it. */
export function explain(error: Error): string {
  if (!(error instanceof ApiError)) return sentence(error.message)
  const own = ownSentences[error.code]
  if (own !== undefined) return own
  // A member's name is written as it is.
  if (error.path !== undefined && error.message.startsWith(error.path)) return ended(error.message)
  if (error.code !== 'not_found') return sentence(error.message)
  const why = isKeptUntilDeleted(error) ? '' : ', or it is older than what is kept'
  return sentence(`${error.message.replace(/\.$/, '')}: it may have been deleted${why}`)
}

/** Such a thing is missing only because somebody deleted it; what is recorded ends by itself, too. */
const isKeptUntilDeleted = ({ message }: ApiError): boolean =>
  /^no (source|destination|audience|token|alert channel) /i.test(message)

/** Likewise of something that was to be read, on a page that asks again until it is there. */
export function explainReading(error: Error): string {
  if (!(error instanceof ApiError)) return explain(error)
  if (error.code === 'unavailable')
    return `${sentence(error.message.replace(/; try again in \d+ s\.$/, ''))} This page continues by itself when it is back.`
  return ownSentencesOfReading[error.code] ?? explain(error)
}

/** With a capital at its beginning, unless that is a URL, and a full stop at its end. */
export const sentence = (text: string): string => {
  const trimmed = text.trim()
  const whole = /^https?:/.test(trimmed) ? trimmed : trimmed.charAt(0).toUpperCase() + trimmed.slice(1)
  return ended(whole)
}

const ended = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`)

interface Props {
  error: Error
  title?: string
  /** Something was only to be read. */
  isReading?: boolean
  onRetry?: () => unknown
}

export function ErrorNotice({ error, title = 'This did not work', isReading = false, onRetry }: Props) {
  return (
    <Alert color="red" icon={<IconAlertTriangle aria-hidden />} title={title} role="alert">
      <Stack gap="sm" align="flex-start">
        <Text size="sm">{isReading ? explainReading(error) : explain(error)}</Text>
        {onRetry !== undefined && (
          <Button size="xs" variant="default" onClick={() => onRetry()}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  )
}
