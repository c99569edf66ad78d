import { Alert, Button, PasswordInput, Stack } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import type { Session } from '../../../src/schemas/access.ts'
import { ApiError, isUnreachable } from '../api/request.ts'
import { signIn } from '../api/session.ts'
import { explain } from './error-notice.tsx'

/** Signing in with a token.
 *  @param onSignedIn  is told the session that has begun */
export const useSignIn = (onSignedIn: (session: Session) => void) =>
  useMutation({ mutationFn: signIn, onSuccess: onSignedIn, meta: { isSignIn: true } })

interface Props {
  enter: ReturnType<typeof useSignIn>
  /** Above the field. */
  children?: ReactNode
}

/** The field for the token, and why it was not taken. */
export function TokenForm({ enter, children }: Props) {
  const [token, setToken] = useState('')
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        enter.mutate(token.trim())
      }}
    >
      <Stack>
        {children}
        {enter.error !== null && (
          <Alert color="red" role="alert" icon={<IconAlertTriangle aria-hidden />} title="Not signed in">
            {describe(enter.error)}
          </Alert>
        )}
        <PasswordInput
          label="Token"
          placeholder="The admin token, or an API token"
          required
          withAsterisk={false}
          autoFocus
          data-autofocus
          autoComplete="current-password"
          value={token}
          onChange={({ currentTarget }) => setToken(currentTarget.value)}
        />
        <Button type="submit" loading={enter.isPending} fullWidth>
          Sign in
        </Button>
      </Stack>
    </form>
  )
}

function describe(error: Error): string {
  if (error instanceof ApiError && error.status === 401)
    return 'This token is unknown. Copy it again from the text that Postrider prints when it starts, or ask an administrator for one.'
  if (isUnreachable(error))
    return 'Postrider does not answer: check that it is running and that you are connected, then try again.'
  return explain(error)
}
