import { Alert, Button, Stack, Text } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { ApiError } from '../api/request.ts'

/** What the reader can do about an error, by its code. */
const remedies: Record<string, string> = {
  unreachable: 'Check that Postrider is running and that you are connected, then try again.',
  unauthorized: 'Sign in again.',
  forbidden: 'Your role only reads. Ask an administrator, or sign in with an admin token.',
  not_found: 'It may have been deleted, or its retention is over. Go back to the list to see what is there.',
  conflict: 'Someone or something changed it meanwhile. Load it again to see how it stands.',
  too_many_requests: 'Wait a moment, then try again.',
  unavailable: 'Temporal or the database does not answer. Settings shows how they do.',
  internal_error: 'The server’s log has the details.',
}

/** The server's sentence about an error, and how to mend it. */
export const explain = (error: Error): string => {
  const remedy = error instanceof ApiError ? remedies[error.code] : undefined
  return remedy === undefined ? error.message : `${error.message} ${remedy}`
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
