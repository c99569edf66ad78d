import { Alert, Button, Stack, Text } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { ApiError } from '../api/request.ts'

/** What the app says itself about an error, by its code: the server's words are for programs. */
const ownSentences: Record<string, string> = {
  unreachable: 'Postrider does not answer: check that it is running and that you are connected, then try again.',
  no_answer: 'A proxy in front of Postrider answered with an error: check that Postrider is running, then try again.',
  unauthorized: 'Your session has ended: sign in again.',
  forbidden: 'Viewers can look at everything but change nothing: ask an administrator, or sign in with an admin token.',
  too_many_requests: 'There were too many requests: wait a minute, then try again.',
  internal_error: 'Postrider made a mistake: try again, and if it happens again, look for the details in its log.',
}

/** What the reader can do, behind the server's own sentence. */
const remedies: Record<string, string> = {
  not_found: 'it may have been deleted, or it is older than what is kept',
  unavailable: 'this page continues by itself when it is back',
}

/** One sentence that says what is wrong and, where that is known, how to mend it. */
export function explain(error: Error): string {
  if (!(error instanceof ApiError)) return sentence(error.message)
  const own = ownSentences[error.code]
  if (own !== undefined) return own
  const remedy = remedies[error.code]
  return sentence(remedy === undefined ? error.message : `${error.message.replace(/\.$/, '')}: ${remedy}`)
}

/** With a capital at its beginning and a full stop at its end. */
export const sentence = (text: string): string => {
  const trimmed = text.trim()
  const whole = trimmed.charAt(0).toUpperCase() + trimmed.slice(1)
  return /[.!?…]$/.test(whole) ? whole : `${whole}.`
}

interface Props {
  error: Error
  title?: string
  onRetry?: () => unknown
}

export function ErrorNotice({ error, title = 'This did not work', onRetry }: Props) {
  return (
    <Alert color="red" icon={<IconAlertTriangle aria-hidden />} title={title} role="alert">
      <Stack gap="sm" align="flex-start">
        <Text size="sm">{explain(error)}</Text>
        {onRetry !== undefined && (
          <Button size="xs" variant="default" onClick={() => onRetry()}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  )
}
